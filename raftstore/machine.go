package raftstore

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/moment"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/statedb"
)

// Reader reads the durable state of one group. Keys are relative to the group.
//
// It is an alias of a bare interface, so that a state machine may declare the same and need not import this package.
type Reader = interface {
	// Get returns the value of a key. OWNERSHIP: the value is valid until the next Get. A read that fails ends the
	// process.
	Get(key []byte) (value []byte, found bool)
	// Scan calls fn for the keys from (included) to (excluded), in order, until fn returns false. OWNERSHIP: key and
	// value are valid until fn returns.
	Scan(from, to []byte, fn func(key, value []byte) bool)
}

// Batch collects the changes of one batch of commands. Its reads return the state before the batch. OWNERSHIP: what is
// set is copied.
type Batch = interface {
	Get(key []byte) (value []byte, found bool)
	Scan(from, to []byte, fn func(key, value []byte) bool)
	Set(key, value []byte)
	Delete(key []byte)
	DeleteRange(from, to []byte)
}

// StateMachine is what a group replicates. Calls of all methods but Digest come one at a time; Digest may be called
// beside them. The order of commands is the same on every node, and the state must depend on nothing else.
type StateMachine interface {
	// Load builds the memory of the machine from durable state: at Open, and after a snapshot was installed. It may be
	// called again. An error at Open makes the store rebuild the state from snapshot and log, unless the error has a
	// method NewerState that returns true: then Open returns it. An error after a snapshot of a leader ends the
	// process.
	Load(r Reader) error
	// Apply executes one command. It cannot fail: bad input is an answer inside the result.
	// OWNERSHIP: cmd belongs to the log and must not be changed or kept; the result belongs to the caller.
	Apply(b Batch, cmd []byte) (result []byte)
	// EndBatch is called after each batch of commands. It reports whether the batch's Flush and Committed may be deferred,
	// so that one write serves several batches: nothing that the batch changed is waiting for them, except what reads the
	// durable state. A Read, a snapshot and Close never see a state without its deferred changes.
	EndBatch() (deferrable bool)
	// Flush is called once for one or several batches of commands, before their changes are written.
	Flush(b Batch)
	// Committed is called when the changes are in the state database, so that the machine can publish them to readers.
	Committed()
	// Digest is a hash of the state. After Flush it must be what it will be after the next Load.
	Digest() uint64
}

// machine joins a StateMachine with its durable state: the raft.FSM of a group.
//
// INVARIANT: changes, applied index and digest are one write. Entries up to the applied index are skipped, because Raft
// replays everything after its last snapshot and does not know this index.
//
// Batches of which nobody waits for the write are written together (deferred.go). So there are two positions: applied,
// where the memory of the state machine is, and stored, where the state database is.
type machine struct {
	store        *Store
	id           uint16
	stateMachine StateMachine
	state        *statedb.Group
	batch        *statedb.Batch
	cmds         [][]byte                          // Reused by applyEntry.
	mustWrite    bool                              // The batch may not be deferred, whatever the state machine says.
	applied      atomic.Pointer[position]          // INVARIANT: never before stored.
	stored       atomic.Pointer[statedb.Applied]   // The newest applied record that was written.
	writes       sync.Mutex                        // Serializes the calls of stateMachine and batch. LOCKS: no other lock is held.
	deferred     atomic.Bool                       // batch holds changes that are not written. It changes while writes is held.
	onCommitted  atomic.Pointer[func([]*raft.Log)] // Called with entries before they are applied; nil for nobody.
	onApply      func(index uint64)
	snaps        *snapshot.Store
	restoring    atomic.Bool // The state is wiped, and the snapshot that replaces it is not complete.
	running      atomic.Bool // NewRaft returned; from then on a failed restore must end the process.
	installTimes []time.Time // When the newest snapshots of leaders were installed.

	logSize logSize

	lastCheck   atomic.Uint64 // Index of the newest state check.
	lastCheckAt moment.Last   // When it was applied, or when this leader last proposed one.

	batches      atomic.Uint64
	entries      atomic.Uint64
	commands     atomic.Uint64
	nanos        atomic.Int64
	appliedAt    moment.Last // When entries were last applied.
	restores     atomic.Uint64
	snapshots    atomic.Uint64
	postponed    atomic.Uint64 // Snapshots that were not taken for lack of space.
	partialBytes atomic.Uint64 // Bytes that the last snapshot had when it stopped for lack of space; 0: it was complete.
	snapBytes    atomic.Uint64
	snapNanos    atomic.Int64
}

var _ raft.BatchingFSM = (*machine)(nil)

// Apply is never called by Raft, which prefers ApplyBatch.
func (m *machine) Apply(l *raft.Log) any { return m.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch applies entries, commands and configurations alike, and answers each with the results of its commands. A
// state check is written at once, so that its digest is that of the same state on every replica.
func (m *machine) ApplyBatch(logs []*raft.Log) []any {
	if committed := m.onCommitted.Load(); committed != nil {
		(*committed)(logs)
	}
	m.countLog(logs)
	m.writes.Lock()
	defer m.writes.Unlock()
	start := time.Now()
	answers := make([]any, len(logs))
	last := *m.applied.Load()
	open := false // Whether there is something to end.
	for i, l := range logs {
		if l.Index <= last.index {
			continue
		}
		open = true
		last = position{l.Index, l.Term}
		switch l.Type {
		case raft.LogCommand:
			answers[i] = m.applyEntry(l)
		case raft.LogConfiguration:
			m.store.membersChanged()
		default: // Raft does not pass its own entries.
		}
		if isCheck(l) {
			m.write(last)
			open = false
			m.lastCheck.Store(last.index)
			m.lastCheckAt.Mark()
			m.store.stateChecks.recordLocal(m.id, *m.stored.Load())
		}
	}
	if open {
		m.endBatch(last)
	}
	m.nanos.Add(int64(time.Since(start)))
	return answers
}

func (m *machine) applyEntry(l *raft.Log) [][]byte {
	node, removed, isRemoval, err := membership.SplitRemoved(l.Data)
	if isRemoval && err == nil {
		m.applyRemoved(node, removed)
		return nil
	}
	cmds, err := proposal.SplitEntry(m.cmds[:0], l.Data)
	if err != nil {
		m.store.exit.Now("raft entry cannot be applied", fmt.Errorf("group %d, entry %d: %w", m.id, l.Index, err))
	}
	results := make([][]byte, len(cmds))
	for i, cmd := range cmds {
		results[i] = m.stateMachine.Apply(m.batch, cmd)
	}
	m.entries.Add(1)
	m.commands.Add(uint64(len(cmds)))
	clear(cmds)
	m.cmds = cmds
	return results
}

// applyRemoved applies an entry that records or clears a removal. Its change is written at once, because membership
// reads it without the state machine.
func (m *machine) applyRemoved(node string, removed bool) {
	m.mustWrite = true
	if removed {
		m.batch.Set(membership.RemovedKey(node), []byte{1})
	} else {
		m.batch.Delete(membership.RemovedKey(node))
	}
}

// load builds the machine's memory and compares its digest with the stored one.
func (m *machine) load() error {
	a, found, err := m.state.Applied()
	if err != nil {
		return err
	}
	if !found { // The group is new, or a restore did not end: what lies there belongs to no index.
		if err := m.state.Wipe(); err != nil {
			return err
		}
	}
	m.setStored(a)
	if err := m.stateMachine.Load(m.state.Ahead()); err != nil {
		return fmt.Errorf("group %d: the state cannot be loaded: %w", m.id, err)
	}
	if digest := m.stateMachine.Digest(); found && digest != a.Digest {
		return fmt.Errorf("group %d: the state at entry %d has digest %016x instead of %016x", m.id, a.Index, digest, a.Digest)
	}
	return nil
}

// wipe deletes the state; the log and the newest snapshot rebuild it.
func (m *machine) wipe() error {
	if err := m.state.Wipe(); err != nil {
		return err
	}
	m.setStored(statedb.Applied{})
	return m.stateMachine.Load(m.state.Reader())
}

// Bounds of the snapshots that a follower installs before its process ends.
const (
	installsMax   = 2
	installWindow = 5 * time.Minute
)

// noteInstall ends the process when leaders send one snapshot after the other: whatever keeps this node from following,
// a new process begins with what is on the disk. Only the applying goroutine calls it.
func (m *machine) noteInstall(now time.Time) {
	m.installTimes = slices.DeleteFunc(append(m.installTimes, now), func(t time.Time) bool { return now.Sub(t) > installWindow })
	if len(m.installTimes) > installsMax {
		m.store.exit.NowWithAdvice("snapshots are installed again and again", "restart it; if that repeats, it does not keep up with its leader",
			fmt.Errorf("group %d: %d within %s", m.id, len(m.installTimes), installWindow))
	}
}
