package pebblelog

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/hashicorp/raft"
)

// Check compares the log with its guard and with itself before Raft may use it, and returns ErrDamaged when something
// acknowledged is missing. snapshot is the index of the newest readable snapshot, 0 for none. With AcceptLoss the guard
// is overwritten instead of compared.
//
// Not noticed are the loss of the last batch before a crash, because the guard holds the end of the batch before it;
// and the loss of entries that a snapshot covers, which is no loss.
func (l *Log) Check(snapshot uint64) error {
	if err := l.checkBounds(); err != nil {
		return err
	}
	term, err := l.GetUint64([]byte(keyTerm))
	if err != nil {
		return err
	}
	voteTerm, err := l.GetUint64([]byte(keyVoteTerm))
	if err != nil {
		return err
	}
	vote, err := l.Get([]byte(keyVote))
	if err != nil && !errors.Is(err, errNotFound) {
		return err
	}
	if l.db.o.AcceptLoss {
		if vote == nil { // The power failed between the two writes of a vote. Half a vote in the guard would contradict the next one.
			voteTerm = 0
		}
		l.mu.Lock()
		l.guarded = guardRecord{term: term, voteTerm: voteTerm, vote: vote}
		l.durable = l.last.Load()
		ticket := l.postLocked()
		l.mu.Unlock()
		return l.guard.wait(ticket)
	}
	g := l.guarded
	switch {
	case g.lastIndex > max(l.last.Load(), snapshot):
		return l.damaged("it ends at entry %d and the newest snapshot at %d, but the tail guard says that entry %d was durable",
			l.last.Load(), snapshot, g.lastIndex)
	case g.term > term:
		return l.damaged("its term is %d, but the tail guard says %d", term, g.term)
	case g.voteTerm > voteTerm, g.voteTerm == voteTerm && voteTerm > 0 && !bytes.Equal(g.vote, vote):
		return l.damaged("its vote is %q in term %d, but the tail guard says %q in term %d", vote, voteTerm, g.vote, g.voteTerm)
	}
	l.durable = min(l.durable, l.last.Load())
	return nil
}

// checkBounds compares the stored first and last index with the entries.
func (l *Log) checkBounds() error {
	it, err := l.db.db.iterate(entryKey(nil, l.group, 0), entryKey(nil, l.group, ^uint64(0)))
	if err != nil {
		return err
	}
	var first, last uint64
	if it.First() {
		first = binary.BigEndian.Uint64(it.Key()[3:])
	}
	if it.Last() {
		last = binary.BigEndian.Uint64(it.Key()[3:])
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return l.damaged("%v", err)
	}
	if first != l.first.Load() || last != l.last.Load() {
		return l.damaged("entries %d..%d found, %d..%d expected", first, last, l.first.Load(), l.last.Load())
	}
	return nil
}

// Walk calls fn for the entries from an index to the end, in order. It returns ErrDamaged at a gap or at an entry that
// cannot be decoded.
func (l *Log) Walk(from uint64, fn func(*raft.Log)) error {
	if l.last.Load() == 0 {
		return nil
	}
	next := max(from, l.first.Load())
	it, err := l.db.db.iterate(entryKey(nil, l.group, next), entryKey(nil, l.group, ^uint64(0)))
	if err != nil {
		return err
	}
	for valid := it.First(); valid; valid = it.Next() {
		index := binary.BigEndian.Uint64(it.Key()[3:])
		var entry raft.Log
		if index != next {
			return errors.Join(l.damaged("entry %d is missing", next), it.Close())
		}
		if err := decodeEntry(&entry, index, it.Value()); err != nil {
			return errors.Join(l.damaged("entry %d: %v", index, err), it.Close())
		}
		fn(&entry)
		next++
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return l.damaged("%v", err)
	}
	if next <= l.last.Load() {
		return l.damaged("entries from %d are missing", next)
	}
	return nil
}

// Bootstrap writes the first term and the first configuration of a new group. It may be repeated after a crash in the
// middle, which Raft's own BootstrapCluster refuses.
func (l *Log) Bootstrap(c raft.Configuration) error {
	if err := l.SetUint64([]byte(keyTerm), 1); err != nil {
		return err
	}
	return l.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(c)})
}

// CanBootstrap reports whether the group never held an entry and never voted.
func (l *Log) CanBootstrap() (bool, error) {
	term, err := l.GetUint64([]byte(keyTerm))
	if err != nil {
		return false, err
	}
	voteTerm, err := l.GetUint64([]byte(keyVoteTerm))
	return err == nil && l.last.Load() == 0 && l.guarded.lastIndex == 0 && term <= 1 && voteTerm == 0, err
}
