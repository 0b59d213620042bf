package raftstore

import (
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// logSize is how many bytes of entries a group's log has after its newest snapshot. Raft counts entries alone, but a start
// reads bytes: 50,000 commands of an import are five gigabytes.
//
// A snapshot is due when the log has as many bytes as Config.SnapshotBytes and as the newest snapshot. So snapshots together
// write no more than the log does, and a start reads little more of the log than of the state.
type logSize struct {
	seen     atomic.Int64  // Bytes of all entries that the machine was given. It only grows.
	snapshot atomic.Int64  // What seen was at the newest snapshot.
	due      chan struct{} // Holds one element once a snapshot is due.
}

// countLog counts entries that are applied, or that a start finds to be applied already.
func (m *machine) countLog(logs []*raft.Log) {
	bytes := int64(0)
	for _, l := range logs {
		bytes += int64(len(l.Data))
	}
	m.logSize.seen.Add(bytes)
	if m.snapshotIsDue() {
		select {
		case m.logSize.due <- struct{}{}:
		default: // It is known.
		}
	}
}

func (m *machine) snapshotIsDue() bool { return m.largeLogSince(m.logSize.snapshot.Load()) }

// largeLogSince reports whether the log has grown so much since it had the bytes seen that a snapshot is due.
func (m *machine) largeLogSince(seen int64) bool {
	return m.logSize.seen.Load()-seen >= max(m.store.c.SnapshotBytes, m.snaps.NewestBytes())
}

// snapshotLargeLogs takes a snapshot whenever the size of the log makes one due, until the store closes. It rests after each,
// also after one that failed, which Raft logs: a disk without space does not get a try for each entry.
func (g *Group) snapshotLargeLogs() {
	for g.store.ctx.Err() == nil {
		select {
		case <-g.machine.logSize.due:
		case <-g.store.ctx.Done():
			return
		}
		if !g.machine.snapshotIsDue() {
			continue // Raft has taken one meanwhile.
		}
		_ = g.raft.Snapshot().Error()
		g.store.pause(g.store.c.SnapshotInterval)
	}
}
