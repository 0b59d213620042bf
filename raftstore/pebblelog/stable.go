package pebblelog

import (
	"encoding/binary"
	"errors"
	"slices"
)

// errNotFound has the text that Raft compares with.
var errNotFound = errors.New("not found")

// The keys that Raft uses. The guard stores their values outside Pebble.
const (
	keyTerm     = "CurrentTerm"
	keyVoteTerm = "LastVoteTerm"
	keyVote     = "LastVoteCand"
)

// Set stores a value, durable on return. It never returns an error. The candidate of a vote is the second write of two;
// the guard gets the vote with it, so a crash in between raises no alarm.
func (l *Log) Set(key, value []byte) error {
	defer l.db.o.Watchdog.Start("Set").Done()
	b := l.db.db.batch()
	err := b.Set(nameKey(spaceStable, l.group, string(key)), value, nil)
	l.mustWrite("Set", errors.Join(err, l.db.db.commit(b)))
	if string(key) != keyVote {
		return nil
	}
	if len(value) > voteBytesMax {
		l.mustWrite("Set", errors.New("the candidate's name is longer than 255 bytes"))
	}
	term, err := l.GetUint64([]byte(keyVoteTerm))
	l.mustWrite("Set", err)
	l.mu.Lock()
	l.guarded.voteTerm, l.guarded.vote = term, slices.Clone(value)
	ticket := l.postLocked()
	l.mu.Unlock()
	l.mustWrite("Set", l.guard.wait(ticket))
	return nil
}

// Get reads a value. A missing one is an error with the text that Raft expects.
func (l *Log) Get(key []byte) ([]byte, error) {
	value, found, err := l.db.db.get(nameKey(spaceStable, l.group, string(key)))
	if err == nil && !found {
		return nil, errNotFound
	}
	return value, err
}

// SetUint64 stores a number, durable on return. It never returns an error. The guard gets a new term after the
// database: the other order would raise a false alarm after a crash in between.
//
// The term of a vote is the first write of two, and deletes the candidate of the vote before: after a power failure in
// between Raft would otherwise believe that it voted for that one in the new term, and grant it the vote as a
// repetition, without a look at its log.
func (l *Log) SetUint64(key []byte, value uint64) error {
	defer l.db.o.Watchdog.Start("SetUint64").Done()
	b := l.db.db.batch()
	err := b.Set(nameKey(spaceStable, l.group, string(key)), binary.BigEndian.AppendUint64(nil, value), nil)
	if string(key) == keyVoteTerm {
		err = errors.Join(err, b.Delete(nameKey(spaceStable, l.group, keyVote), nil))
	}
	l.mustWrite("SetUint64", errors.Join(err, l.db.db.commit(b)))
	if string(key) != keyTerm {
		return nil
	}
	l.mu.Lock()
	l.guarded.term = value
	ticket := l.postLocked()
	l.mu.Unlock()
	l.mustWrite("SetUint64", l.guard.wait(ticket))
	return nil
}

// GetUint64 reads a number; a missing one is 0.
func (l *Log) GetUint64(key []byte) (uint64, error) {
	value, err := l.Get(key)
	switch {
	case errors.Is(err, errNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case len(value) != 8:
		return 0, l.damaged("stable key %q has %d bytes", key, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}
