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

// guardIdle is how long a log rests before the guard is told its exact end.
const guardIdle = 100 * time.Millisecond

// Log is the log and the stable store of one group.
//
// INVARIANT: entries first..last are durable, contiguous and decodable; both are 0 when there are none. first and last
// change only after the commit returned, so nobody reads ahead of the disk.
// INVARIANT: raft never sees an error of a write. Whatever fails ends the process: after a failed StoreLogs raft keeps
// a wrong idea of its last entry, and a retry after a failed fsync can succeed falsely.
type Log struct {
	db     *DB
	group  uint16
	tail   tail
	first  atomic.Uint64
	last   atomic.Uint64
	commit atomic.Uint64 // For the guard: an index known to be applied.

	guard *guard

	// raft deletes a prefix on its snapshot goroutine while its main loop appends. Both write both bounds, so one waits for
	// the other; found by SIGKILL tests as a log that was one entry longer than it said.
	// It is a lock made of a channel, because simulated time goes on while somebody waits for a channel, not for a mutex.
	// LOCKS: writing, then mu.
	writing chan struct{}

	// replaced is the end of the snapshot that has just replaced the state, until raft has dropped the log or appends to it.
	replaced atomic.Pointer[snapshotEnd]

	mu      sync.Mutex
	guarded guardRecord // What was last posted.
	durable uint64      // What the guard may say: the end of the log, or less.
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

// pristine reports whether raft never wrote anything: no entry, no term.
func (l *Log) pristine() bool {
	term, err := l.GetUint64([]byte("CurrentTerm"))
	return err == nil && term == 0 && l.last.Load() == 0
}

// IsMonotonic tells raft that the log has no gaps: after a snapshot was installed it drops the whole log. Without it a
// follower that diverged beyond its snapshot refuses every entry for ever (hashicorp/raft#697).
func (l *Log) IsMonotonic() bool { return true }

// FirstIndex is the index of the oldest entry, 0 for none.
func (l *Log) FirstIndex() (uint64, error) { return l.first.Load(), nil }

// LastIndex is the index of the newest durable entry, 0 for none.
func (l *Log) LastIndex() (uint64, error) { return l.last.Load(), nil }

// GetLog reads an entry, or returns raft.ErrLogNotFound.
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

// StoreLogs appends entries, durable on return. REQUIRES: they follow the last entry, or the log is empty.
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
	var key, value []byte
	for _, entry := range logs {
		key, value = entryKey(key[:0], l.group, entry.Index), appendEntry(value[:0], entry)
		err = errors.Join(err, b.Set(key, value, nil))
	}
	if first == 0 {
		first = logs[0].Index
		err = errors.Join(err, l.setBound(b, nameFirst, first))
	}
	err = errors.Join(err, l.setBound(b, nameLast, newLast))

	ticket := l.postGuard() // Says the end before this batch; synced beside the commit.
	err = errors.Join(err, l.db.db.commit(b), l.guard.wait(ticket))
	l.mustWrite("StoreLogs", err)

	l.tail.add(logs)
	l.first.Store(first)
	l.last.Store(newLast)
	l.advance(newLast)
	return nil
}

func (l *Log) setBound(b *pebble.Batch, name string, index uint64) error {
	return b.Set(nameKey(spaceMeta, l.group, name), binary.BigEndian.AppendUint64(nil, index), nil)
}

// DeleteRange removes the entries min..max, both included: a prefix, a suffix or everything, as raft asks for. When raft forgets after
// that where its log ends, the process ends; see forgotten.
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
		forgotten = l.forgotten(last)
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
		l.db.o.Exit.NowWith(reasonForgotten, "restart it; nothing is wrong with its disk", forgotten)
	}
	return nil
}

func (l *Log) mustWrite(what string, err error) {
	if err != nil {
		l.db.o.Exit.Now("raft log cannot be written", fmt.Errorf("group %d: %s: %w", l.group, what, err))
	}
}

// SetCommit tells the guard an index that is committed; it goes out with the next write.
func (l *Log) SetCommit(index uint64) { l.commit.Store(index) }

// Guarded is an index that the guard knows to be committed.
func (l *Log) Guarded() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.guarded.commit
}

// postGuard posts the guard record as it stands. It may be behind the log, never ahead.
func (l *Log) postGuard() (ticket uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.postLocked()
}

func (l *Log) postLocked() (ticket uint64) {
	l.guarded.lastIndex, l.guarded.commit = l.durable, min(l.commit.Load(), l.durable)
	return l.guard.post(groupRecord(l.group), l.guarded)
}

// lowerGuard makes the guard forget entries above last, before they are deleted: in the other order a crash in between
// would look like a lost tail.
func (l *Log) lowerGuard(last uint64) error {
	l.mu.Lock()
	l.durable = min(l.durable, last)
	ticket := l.postLocked()
	l.mu.Unlock()
	return l.guard.wait(ticket)
}

// advance notes that the log is durable up to last and tells the guard when the log comes to rest.
func (l *Log) advance(last uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = last
	if l.idle == nil {
		l.idle = time.AfterFunc(guardIdle, l.rest)
		return
	}
	l.idle.Reset(guardIdle)
}

func (l *Log) rest() {
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

// settle stops the timer and writes the exact end.
func (l *Log) settle() {
	l.mu.Lock()
	if l.idle != nil {
		l.idle.Stop()
	}
	l.mu.Unlock()
	l.rest()
}
