package raftstore

import (
	"github.com/gavel-ads/gavel/raftstore/statedb"
)

// deferredBytesMax bounds the changes that wait for a write, in bytes. BOUND: about a thousand charged events. The batch
// that reaches it pays for the write of all, which is a pause of about 2 ms; a larger bound saves little more CPU.
const deferredBytesMax = 256 << 10

// position is the last Raft entry that a state contains.
type position struct{ index, term uint64 }

// endBatch ends a batch of entries: it writes its changes, or defers that when the state machine allows it.
//
// Several batches share a write for two reasons. A record that all of them change, such as a balance or a counter, is
// written once, and a large write in the order of its keys costs the memtable less than half per record. Nothing is less
// durable for it: the state database has no write-ahead log, so a crash takes what was written lately in any case, and
// the Raft log brings both back.
//
// LOCKS: writes is held.
func (m *machine) endBatch(last position) {
	if m.stateMachine.EndBatch() && !m.mustWrite && m.batch.Bytes() < deferredBytesMax {
		m.deferred.Store(true) // Before applied: whoever waits for this index and reads then has to see the changes.
		m.finishBatch(last)
		return
	}
	m.write(last)
}

// write writes all changes so far, the deferred ones included, in one write with the index they lead to. LOCKS: writes is
// held.
func (m *machine) write(last position) {
	m.mustWrite = false
	m.stateMachine.Flush(m.batch)
	stored := statedb.Applied{Index: last.index, Term: last.term, Digest: m.stateMachine.Digest()}
	m.batch.Commit(stored)
	m.stored.Store(&stored)
	m.stateMachine.Committed()
	m.deferred.Store(false)
	m.batches.Add(1)
	m.finishBatch(last)
}

// finishBatch makes known that the entries up to last are applied. LOCKS: writes is held.
func (m *machine) finishBatch(last position) {
	if last == *m.applied.Load() {
		return // Only deferred changes were written.
	}
	m.applied.Store(&last)
	m.onApply(last.index)
	m.appliedAt.Mark()
}

// writeDeferred writes what is deferred, so that the state database contains everything that was applied before the call.
// It waits for a batch that is being applied, and only if something is deferred.
func (m *machine) writeDeferred() {
	if !m.deferred.Load() {
		return
	}
	m.writes.Lock()
	defer m.writes.Unlock()
	m.writeIfDeferred()
}

// tryWriteDeferred is writeDeferred, except that it does nothing while a batch is being applied.
func (m *machine) tryWriteDeferred() {
	if !m.deferred.Load() || !m.writes.TryLock() {
		return
	}
	defer m.writes.Unlock()
	m.writeIfDeferred()
}

// writeIfDeferred writes what is deferred. LOCKS: writes is held.
func (m *machine) writeIfDeferred() {
	if m.deferred.Load() {
		m.write(*m.applied.Load())
	}
}

// setStored sets both positions, when a state was loaded or wiped.
func (m *machine) setStored(a statedb.Applied) {
	m.applied.Store(&position{a.Index, a.Term})
	m.stored.Store(&a)
}

// close writes what is deferred, unless the disk has no space, and releases the batch. REQUIRES: Raft has stopped.
func (m *machine) close(spaceLeft bool) error {
	m.writes.Lock()
	defer m.writes.Unlock()
	if spaceLeft {
		m.writeIfDeferred()
	}
	m.deferred.Store(false) // A Status that comes late writes nothing.
	return m.batch.Close()
}
