package raftstore

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// clusterTimeout is after how long a follower that hears nothing stands for election, up to twice as long.
	//
	// Heartbeats queue behind disk writes (see transport.Safe), so a follower whose disk stalls for as long looks at its
	// timer before it looks at the heartbeats that came meanwhile. That is harmless: it asks for pre-votes, the others
	// have a leader and refuse, and the next call of the leader makes it a follower again. A leader whose own disk stalls
	// goes on to send heartbeats, from other goroutines. What unseats a leader is a majority of stalled followers, by
	// clusterLease, and that is no shorter for these timers.
	clusterTimeout = 1 * time.Second
	clusterLease   = 1 * time.Second // REQUIRES: at most clusterTimeout.
	// clusterStagger is added for each voter that should rather lead the group: groups do not stand for election all at
	// once, two nodes seldom do for the same group, and the preferred one is most often the first.
	clusterStagger = 100 * time.Millisecond

	maxAppendEntries = 128 // Group commit size.
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

	transfers transfers
	intake    intake

	leads  chan bool
	done   sync.WaitGroup
	asking sync.WaitGroup // See whileOpen.

	heartbeat time.Duration // Raft's timeout.
	opened    time.Time
	leaders   chan raft.Observation // Of new leaders, wherever they are.
	observer  *raft.Observer

	leaderTerms atomic.Uint64 // In which this node heard of a leader.
	oldestEntry atomic.Pointer[dated]

	mu     sync.Mutex
	term   uint64        // In which this node is ready; 0: it is not.
	since  time.Time     // When term changed.
	change chan struct{} // Closed and replaced when term or the leader changes.
	closed bool
}

// raftConfig is the configuration of a group.
func (s *Store) raftConfig(id uint16, heartbeat time.Duration, keepState bool, leads chan<- bool) *raft.Config {
	c := raft.DefaultConfig()
	c.ProtocolVersion = raft.ProtocolVersionMax
	c.LocalID = s.identity.Server
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = heartbeat, heartbeat, clusterLease
	c.CommitTimeout = s.c.CommitTimeout
	c.MaxAppendEntries = maxAppendEntries
	c.BatchApplyCh = true
	c.ShutdownOnRemove = false // A removed node may be admitted again without a restart.
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
			g.transfers.lost()
			continue
		}
		term := g.raft.CurrentTerm()
		// A leader serves when everything committed before its term is applied.
		if err := g.leadBarrier(); errors.Is(err, ErrClosed) {
			continue
		} else if err != nil {
			g.store.c.Logger.Warn("leadership was lost at once", slog.Int("group", int(g.id)), slog.Any("err", err))
			continue
		}
		if g.raft.State() == raft.Leader && g.raft.CurrentTerm() == term {
			g.setReady(term)
		}
		if g.store.abstaining.Load() {
			g.handOver(g.store.life)
		}
	}
}

// watchLeaders wakes whoever waits for a leader as soon as this node hears of one.
func (g *Group) watchLeaders() {
	var last uint64
	for o := range g.leaders {
		if seen, ok := o.Data.(raft.LeaderObservation); ok && seen.LeaderID != "" {
			if term := g.raft.CurrentTerm(); term != last {
				last = term
				g.leaderTerms.Add(1)
			}
			g.mu.Lock()
			g.wake()
			g.mu.Unlock()
		}
	}
}

// wake lets those who wait look again. REQUIRES: mu is held.
func (g *Group) wake() {
	close(g.change)
	g.change = make(chan struct{})
}

// moved is closed when this node hears of a leader, or begins or ends to be it.
func (g *Group) moved() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.change
}

// ledSince is when this node became the leader it is.
func (g *Group) ledSince() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since
}

// whileOpen asks raft something. Raft never answers what it is asked just before it shuts down, so close waits for the answer
// first. REQUIRES: ask comes to an end as long as raft runs.
func (g *Group) whileOpen(ask func() error) error {
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.asking.Add(1)
		defer g.asking.Done()
	}
	g.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return ask()
}

func (g *Group) setReady(term uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.term, g.since = term, time.Now()
	g.wake()
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

// replicates reports whether this node leads in a term and a server is a member.
func (g *Group) replicates(term uint64, id raft.ServerID) bool {
	return g.raft.State() == raft.Leader && g.raft.CurrentTerm() == term &&
		slices.ContainsFunc(g.servers().Servers, func(s raft.Server) bool { return s.ID == id })
}

// Read gives fn the state at one moment. It runs beside new commands and sees every one answered before it. While a snapshot
// replaces the state of this node there is none to read: ErrRestoring.
func (g *Group) Read(fn func(Reader) error) error {
	if !g.store.enter() {
		return ErrClosed
	}
	defer g.store.leave()
	snap, err := g.machine.at()
	if err != nil {
		return err
	}
	err = fn(snap)
	if closeErr := snap.Close(); closeErr != nil {
		g.store.exit.Now("state snapshot cannot be closed", closeErr)
	}
	return err
}

// close stops the group; commands that raft has are finished first.
func (g *Group) close() error {
	g.mu.Lock()
	g.closed = true
	g.wake()
	g.mu.Unlock()
	g.batcher.close()
	g.raft.DeregisterObserver(g.observer)
	g.asking.Wait()
	down := g.raft.Shutdown()
	g.safe.HangUp()
	err := down.Error()
	close(g.leads)
	close(g.leaders)
	g.done.Wait()
	return err
}
