package pebblelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
)

// guardIdle is how long a log has no write before the guard gets its exact end.
const guardIdle = 100 * time.Millisecond

// Log is the log store and the stable store of one group.
//
// INVARIANT: entries first..last are durable, contiguous and decodable; both are 0 when there are none. first and last
// change only after the commit returned, so no reader sees entries that are not on the disk.
// INVARIANT: Raft never sees an error of a write. A write that fails ends the process: after a failed StoreLogs Raft
// keeps a wrong idea of its last entry, and a retry after a failed fsync can succeed falsely.
type Log struct {
	db     *DB
	group  uint16
	tail   tail
	stored atomic.Pointer[func([]*raft.Log)] // Called with entries that have become durable; nil for nobody.
	first  atomic.Uint64
	last   atomic.Uint64
	commit atomic.Uint64 // An index known to be applied, for the guard.

	guard *guard

	// writing serializes StoreLogs and DeleteRange. Raft deletes a prefix on its snapshot goroutine while its main loop
	// appends, and both write both bounds. Tests that kill the process found a log that was one entry longer than its
	// bounds said. It is a channel and not a mutex, because simulated time goes on while a goroutine waits for a
	// channel.
	// LOCKS: writing, then mu.
	writing chan struct{}

	// replaced is the end of the snapshot that has just replaced the state, until Raft has deleted the log or appends
	// to it.
	replaced atomic.Pointer[snapshotEnd]

	mu      sync.Mutex
	guarded guardRecord // The record that was last posted to the guard.
	durable uint64      // The last index that the guard may hold: the end of the log, or less.
	idle    *time.Timer
}

var (
	_ raft.LogStore          = (*Log)(nil)
	_ raft.StableStore       = (*Log)(nil)
	_ raft.MonotonicLogStore = (*Log)(nil)
)

func (d *DB) openLog(group uint16) (*Log, error) {
	l := &Log{db: d, group: group, writing: make(chan struct{}, 1), tail: tail{bytesMax: d.o.TailBytes / len(d.o.Groups)}}
	for name, bound := range map[string]*atomic.Uint64{nameFirst: &l.first, nameLast: &l.last} {
		value, found, err := d.db.get(nameKey(spaceMeta, group, name))
		if err != nil {
			return nil, err
		}
		if found && len(value) != 8 {
			return nil, l.damaged("key %q has %d bytes", name, len(value))
		}
		if found {
			bound.Store(binary.BigEndian.Uint64(value))
		}
	}
	return l, nil
}

func (l *Log) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: group %d: %s", ErrDamaged, l.group, fmt.Sprintf(format, args...))
}

// pristine reports whether Raft never wrote anything: no entry and no term.
func (l *Log) pristine() bool {
	term, err := l.GetUint64([]byte("CurrentTerm"))
	return err == nil && term == 0 && l.last.Load() == 0
}

// IsMonotonic tells Raft that the log has no gaps: after a snapshot was installed Raft deletes the whole log. Without
// it a follower that diverged beyond its snapshot refuses every entry for ever (hashicorp/raft#697).
func (l *Log) IsMonotonic() bool { return true }

// FirstIndex is the index of the oldest entry, 0 for none.
func (l *Log) FirstIndex() (uint64, error) { return l.first.Load(), nil }

// LastIndex is the index of the newest durable entry, 0 for none.
func (l *Log) LastIndex() (uint64, error) { return l.last.Load(), nil }

// GetLog reads an entry, or returns raft.ErrLogNotFound. A read that fails ends the process.
func (l *Log) GetLog(index uint64, out *raft.Log) error {
	if l.tail.get(index, out) {
		return nil
	}
	if first := l.first.Load(); first == 0 || index < first || index > l.last.Load() {
		return raft.ErrLogNotFound
	}
	value, found, err := l.db.db.get(entryKey(nil, l.group, index))
	if err == nil && !found {
		return raft.ErrLogNotFound
	}
	if err == nil {
		err = decodeEntry(out, index, value)
	}
	if err != nil {
		l.db.o.Exit.Now("raft log cannot be read", fmt.Errorf("group %d, entry %d: %w", l.group, index, err))
	}
	return nil
}

// StoreLog appends one entry.
func (l *Log) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs appends entries, durable on return. It never returns an error. REQUIRES: they follow the last entry, or the
// log is empty; else it panics.
func (l *Log) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	l.writing <- struct{}{}
	defer func() { <-l.writing }()
	l.replaced.Store(nil)
	first, last := l.first.Load(), l.last.Load()
	for i, entry := range logs {
		if want := logs[0].Index + uint64(i); entry.Index != want || (last != 0 && logs[0].Index != last+1) {
			panic(fmt.Sprintf("raftlog: group %d: entry %d stored after %d", l.group, entry.Index, last))
		}
	}
	defer l.db.o.Watchdog.Start("StoreLogs").Done()

	newLast := logs[len(logs)-1].Index
	b := l.db.db.batch()
	var err error
	for _, entry := range logs {
		set := b.SetDeferred(entryKeyBytes, entryBytesOf(entry)) // The batch gets the entry without a copy in between.
		entryKey(set.Key[:0], l.group, entry.Index)
		appendEntry(set.Value[:0], entry)
		err = errors.Join(err, set.Finish())
	}
	if first == 0 {
		first = logs[0].Index
		err = errors.Join(err, l.setBound(b, nameFirst, first))
	}
	err = errors.Join(err, l.setBound(b, nameLast, newLast))

	ticket := l.postGuard() // Holds the end before this batch; synced beside the commit.
	err = errors.Join(err, l.db.db.commit(b), l.guard.wait(ticket))
	l.mustWrite("StoreLogs", err)

	l.tail.add(logs)
	l.first.Store(first)
	l.last.Store(newLast)
	l.advance(newLast)
	if stored := l.stored.Load(); stored != nil {
		(*stored)(logs)
	}
	return nil
}

// OnStored makes fn be called with all entries that StoreLogs stores from now on, when they are durable. fn runs in Raft's
// main loop, and must not wait for it.
func (l *Log) OnStored(fn func([]*raft.Log)) { l.stored.Store(&fn) }

func (l *Log) setBound(b *pebble.Batch, name string, index uint64) error {
	return b.Set(nameKey(spaceMeta, l.group, name), binary.BigEndian.AppendUint64(nil, index), nil)
}

// DeleteRange removes the entries min..max, both included: a prefix, a suffix or everything, as Raft asks for; it
// panics at a range that would leave a gap. It ends the process when Raft forgets with that where its log ends; see
// checkForgottenTail.
func (l *Log) DeleteRange(min, max uint64) error {
	l.writing <- struct{}{}
	defer func() { <-l.writing }()
	first, last := l.first.Load(), l.last.Load()
	if last == 0 || max < first || min > last || min > max {
		return nil
	}
	prefix, suffix := min <= first, max >= last
	if !prefix && !suffix {
		panic(fmt.Sprintf("raftlog: group %d: DeleteRange(%d, %d) would leave a gap in %d..%d", l.group, min, max, first, last))
	}
	defer l.db.o.Watchdog.Start("DeleteRange").Done()

	var forgotten error
	if prefix && suffix {
		forgotten = l.checkForgottenTail(last)
	}
	newFirst, newLast := first, last
	switch {
	case prefix && suffix:
		newFirst, newLast = 0, 0
	case prefix:
		newFirst = max + 1
	default:
		newLast = min - 1
	}
	if suffix {
		l.mustWrite("DeleteRange", l.lowerGuard(newLast))
	}
	b := l.db.db.batch()
	err := b.DeleteRange(entryKey(nil, l.group, min), entryKey(nil, l.group, max+1), nil)
	err = errors.Join(err, l.setBound(b, nameFirst, newFirst), l.setBound(b, nameLast, newLast), l.db.db.commit(b))
	l.mustWrite("DeleteRange", err)

	l.tail.deleteRange(min, max)
	l.first.Store(newFirst)
	l.last.Store(newLast)
	if forgotten != nil {
		l.db.o.Exit.NowWithAdvice(reasonTailForgotten, "restart it; nothing is wrong with its disk", forgotten)
	}
	return nil
}

func (l *Log) mustWrite(what string, err error) {
	if err != nil {
		l.db.o.Exit.Now("raft log cannot be written", fmt.Errorf("group %d: %s: %w", l.group, what, err))
	}
}

// SetCommit sets an index that is committed; the guard gets it with the next write.
func (l *Log) SetCommit(index uint64) { l.commit.Store(index) }

// GuardedCommit is an index that the guard knows to be committed.
func (l *Log) GuardedCommit() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.guarded.commit
}

// postGuard posts the guard record as it is now. It may be behind the log, never ahead.
func (l *Log) postGuard() (ticket uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.postLocked()
}

func (l *Log) postLocked() (ticket uint64) {
	l.guarded.lastIndex, l.guarded.commit = l.durable, min(l.commit.Load(), l.durable)
	return l.guard.post(groupRecord(l.group), l.guarded)
}

// lowerGuard lowers the guard's last index, durably, before entries are deleted: in the other order a crash in between
// would look like a lost tail.
func (l *Log) lowerGuard(last uint64) error {
	l.mu.Lock()
	l.durable = min(l.durable, last)
	ticket := l.postLocked()
	l.mu.Unlock()
	return l.guard.wait(ticket)
}

// advance records that the log is durable up to last, and writes the guard when the log has had no write for guardIdle.
func (l *Log) advance(last uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = last
	if l.idle == nil {
		l.idle = time.AfterFunc(guardIdle, l.writeGuard)
		return
	}
	l.idle.Reset(guardIdle)
}

// writeGuard writes the exact end of the log into the guard.
func (l *Log) writeGuard() {
	defer l.db.o.Watchdog.Start("guard").Done()
	l.mu.Lock()
	if l.guarded.lastIndex == l.durable {
		l.mu.Unlock()
		return
	}
	ticket := l.postLocked()
	l.mu.Unlock()
	l.mustWrite("guard", l.guard.wait(ticket))
}

// finishGuard stops the timer and writes the exact end of the log into the guard.
func (l *Log) finishGuard() {
	l.mu.Lock()
	if l.idle != nil {
		l.idle.Stop()
	}
	l.mu.Unlock()
	l.writeGuard()
}
