package raftstore

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/statedb"
)

// Snapshot begins a snapshot. It takes microseconds, and the time to write what is deferred, because no entry is applied
// meanwhile, and flushes nothing. One for which there is no space is not begun: it would take the last blocks of the disk
// from the log, whose next write would end the process.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if err := m.checkFreeToBegin(); err != nil {
		return nil, err
	}
	m.writeDeferred()
	return &pendingSnapshot{machine: m, snap: m.state.Snapshot(), applied: *m.stored.Load(), logSeen: m.logSize.seen.Load()}, nil
}

// pendingSnapshot is a snapshot that is being written while further batches are applied.
type pendingSnapshot struct {
	machine *machine
	snap    *statedb.Snapshot
	applied statedb.Applied
	logSeen int64 // logSize.seen when it began.
	once    sync.Once
}

// Persist writes the state as a stream. It begins with a flush: Raft deletes log entries right after it, and the state
// those entries made must not be in memory only. A store that closes waits for one write at most: Raft drops the snapshot,
// and the log has everything.
func (p *pendingSnapshot) Persist(sink raft.SnapshotSink) error {
	m := p.machine
	ctx := m.store.ctx
	select {
	case m.store.snapshotting <- struct{}{}: // BOUND: one snapshot at a time per node.
	case <-ctx.Done():
		return ErrClosed
	}
	defer func() { <-m.store.snapshotting }()
	if err := m.checkFreeToWrite(); err != nil {
		return err
	}
	start := time.Now()
	if err := m.store.state.Flush(ctx.Done()); err != nil {
		return err
	}
	c := &pacedSink{ctx: ctx, sink: sink, urgent: p.nextIsDue, began: time.Now()}
	w, err := snapshot.NewWriter(c, snapshot.Header{
		Cluster: m.store.cluster, Group: m.id, Index: p.applied.Index, Term: p.applied.Term, Digest: p.applied.Digest,
	})
	if err != nil {
		return err
	}
	look := uint64(freeCheckBytes)
	err = p.snap.Each(func(key, value []byte) error {
		if c.n >= look { // Other files grow too, and this state may be larger than the last one.
			look = c.n + freeCheckBytes
			if err := m.store.space.CheckFree(0); err != nil {
				m.partialBytes.Store(c.n)
				return m.countPostponed(err)
			}
		}
		c.record()
		return w.Add(key, value)
	})
	if err == nil {
		err = w.End()
	}
	if err != nil {
		return err
	}
	m.snapshots.Add(1)
	m.partialBytes.Store(0)
	m.snapBytes.Store(c.n)
	m.snapNanos.Store(int64(time.Since(start)))
	if err := c.Close(); err != nil {
		return err
	}
	m.logSize.snapshot.Store(p.logSeen)
	return nil
}

// nextIsDue reports whether the log has grown since the snapshot began by as many bytes as make another one due.
func (p *pendingSnapshot) nextIsDue() bool { return p.machine.largeLogSince(p.logSeen) }

// Release frees the state that the snapshot holds. A second call does nothing.
func (p *pendingSnapshot) Release() {
	p.once.Do(func() {
		if err := p.snap.Close(); err != nil {
			p.machine.store.exit.Now("state snapshot cannot be closed", err)
		}
	})
}

// restoreBytes is the size of one write while a snapshot is restored.
const restoreBytes = 4 << 20

// Restore replaces the state by a snapshot. A partial state has no applied record, so the next start notices a crash in
// between. On a running node a failure ends the process, because the old state is gone.
func (m *machine) Restore(r io.ReadCloser) error {
	err := m.restore(r)
	if !m.running.Load() {
		return err
	}
	if err != nil {
		m.store.exit.Now("snapshot cannot be restored", err)
	}
	m.noteInstall(time.Now())
	m.logSize.snapshot.Store(m.logSize.seen.Load())
	end := m.stored.Load()
	m.store.log.Group(m.id).SnapshotInstalled(end.Index, end.Term)
	return nil
}

func (m *machine) restore(r io.Reader) error {
	h, err := snapshot.ReadHeader(r)
	if err != nil {
		return err
	}
	if h.Cluster != m.store.cluster || h.Group != m.id {
		return fmt.Errorf("%w: snapshot of cluster %016x, group %d", ErrForeign, h.Cluster, h.Group)
	}
	m.writeDeferred()       // It empties the batch, which the restore uses too.
	m.restoring.Store(true) // If this fails, the process ends, or the store is never opened.
	if err := m.state.Wipe(); err != nil {
		return err
	}
	err = snapshot.Read(r, func(key, value []byte) error {
		m.batch.Set(key, value)
		if m.batch.Bytes() >= restoreBytes {
			m.batch.Flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.batch.Commit(statedb.Applied{Index: h.Index, Term: h.Term, Digest: h.Digest})
	m.restores.Add(1) // Before the flag is cleared: see stateSnapshot.
	m.restoring.Store(false)
	return m.load()
}

// stateSnapshot returns the state at one moment, with everything that was applied before the call; or ErrRestoring.
func (m *machine) stateSnapshot() (*statedb.Snapshot, error) {
	m.writeDeferred()
	return m.writtenSnapshot()
}

// writtenSnapshot returns the state as it was last written, with an applied record unless nothing was ever applied; or
// ErrRestoring.
//
// INVARIANT: it never returns part of a state. Wipe deletes the applied record together with all the rest, and the last
// write of a restore brings it back; a state without one is complete only if no restore ran or ended while it was
// examined.
func (m *machine) writtenSnapshot() (*statedb.Snapshot, error) {
	for {
		before := m.restores.Load()
		snap := m.state.Snapshot()
		_, found, err := snap.Applied()
		restoring := m.restoring.Load()
		if err == nil && (found || !restoring && m.restores.Load() == before) {
			return snap, nil
		}
		if err = errors.Join(err, snap.Close()); err != nil {
			return nil, err
		}
		if restoring {
			return nil, ErrRestoring
		}
	}
}

// installIsStale reports whether a snapshot that Raft begins to write comes from a leader and ends with an entry that
// Raft has applied. Raft asks from its main loop, so nothing is applied meanwhile. Most such snapshots are answered
// before they reach Raft (see hasApplied); this covers what is applied, and a term that begins, between the two.
func (g *Group) installIsStale(index, term uint64) bool {
	return g.machine.running.Load() && g.safe.IsInstalling(index, term) && g.raft.AppliedIndex() >= index
}

// hasApplied reports whether this node is in the term and has applied the entry at index.
func (g *Group) hasApplied(term, index uint64) bool {
	return g.raft.CurrentTerm() == term && g.raft.AppliedIndex() >= index
}
