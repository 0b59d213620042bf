package raftstore

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// Timers of a cluster: heartbeats queue behind disk writes, see transport.Safe.
const (
	clusterTimeout = 2 * time.Second
	clusterLease   = 1 * time.Second

	commitTimeout    = 25 * time.Millisecond // Idle followers learn commits.
	maxAppendEntries = 128                   // Group commit size.
)

// Group is one raft group of this node.
type Group struct {
	id      uint16
	store   *Store
	raft    *raft.Raft
	log     *pebblelog.Log
	machine *machine
	snaps   *snapshot.Store
	streams *transport.Streams
	safe    transport.Safe
	batcher *batcher
	leads   chan bool
	done    sync.WaitGroup

	mu     sync.Mutex
	term   uint64        // In which this node is ready; 0: it is not.
	change chan struct{} // Closed and replaced when term changes.
	closed bool
}

// raftConfig is the configuration of a group.
func (s *Store) raftConfig(id uint16, keepState bool, leads chan<- bool) *raft.Config {
	c := raft.DefaultConfig()
	c.ProtocolVersion = raft.ProtocolVersionMax
	c.LocalID = raft.ServerID(s.c.NodeID)
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = clusterTimeout, clusterTimeout, clusterLease
	c.CommitTimeout = commitTimeout
	c.MaxAppendEntries = maxAppendEntries
	c.BatchApplyCh = true
	c.ShutdownOnRemove = true
	c.TrailingLogs = s.c.TrailingLogs
	c.SnapshotInterval = s.c.SnapshotInterval
	c.SnapshotThreshold = s.c.SnapshotThreshold
	c.NoSnapshotRestoreOnStart = keepState
	c.NoLegacyTelemetry = true
	c.RestoreCommittedLogs = false // Broken in v1.8.0: an empty configuration, or a deadlock. A test tells when it is not.
	c.NotifyCh = leads
	c.Logger = newHCLog(s.c.Logger.With(slog.Int("group", int(id))))
	return c
}

// follow keeps ready in step with raft's notices of leadership. NotifyCh must be drained, else raft blocks.
func (g *Group) follow() {
	for leads := range g.leads {
		if !leads {
			g.setReady(0)
			continue
		}
		term := g.raft.CurrentTerm()
		// A leader serves when everything committed before its term is applied.
		if err := g.raft.Barrier(0).Error(); err != nil {
			g.store.c.Logger.Warn("leadership was lost at once", slog.Int("group", int(g.id)), slog.Any("err", err))
			continue
		}
		if g.raft.State() == raft.Leader && g.raft.CurrentTerm() == term {
			g.setReady(term)
		}
	}
}

func (g *Group) setReady(term uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.term = term
	close(g.change)
	g.change = make(chan struct{})
}

// Ready reports whether this node leads the group and has applied everything from before its term.
func (g *Group) Ready() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.term != 0 && !g.closed
}

// WaitReady waits until Ready, ctx ends or the store closes.
func (g *Group) WaitReady(ctx context.Context) error {
	for {
		g.mu.Lock()
		ready, closed, change := g.term != 0, g.closed, g.change
		g.mu.Unlock()
		if closed {
			return ErrClosed
		}
		if ready {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Read gives fn the durable state at one moment. It runs beside new commands and sees every one answered before it.
func (g *Group) Read(fn func(Reader) error) error {
	if !g.store.enter() {
		return ErrClosed
	}
	defer g.store.leave()
	snap := g.machine.state.Snapshot()
	err := fn(snap)
	if closeErr := snap.Close(); closeErr != nil {
		g.store.exit.Now("state snapshot cannot be closed", closeErr)
	}
	return err
}

// close stops the group; commands that raft has are finished first.
func (g *Group) close() error {
	g.mu.Lock()
	g.closed = true
	close(g.change)
	g.change = make(chan struct{})
	g.mu.Unlock()
	g.batcher.close()
	err := g.raft.Shutdown().Error()
	close(g.leads)
	g.done.Wait()
	return err
}
