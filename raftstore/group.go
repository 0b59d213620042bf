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

	"github.com/gavel-ads/gavel/raftstore/diskspace"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// clusterTimeout is how long a follower waits for its leader before it campaigns; Raft may wait up to twice as
	// long.
	//
	// Heartbeats queue behind disk writes (see transport.Safe), so a follower whose disk stalls this long checks its
	// timer before it reads the heartbeats that arrived meanwhile. That is harmless: it asks for pre-votes, the others
	// have a leader and refuse, and the next call of the leader makes it a follower again. A leader whose own disk
	// stalls goes on sending heartbeats from other goroutines. Only a majority of stalled followers unseats a leader,
	// by clusterLease, and these timers do not shorten it.
	clusterTimeout = 1 * time.Second
	clusterLease   = 1 * time.Second // REQUIRES: at most clusterTimeout.
	// clusterStagger is added to the timeout for each voter that is preferred as leader of the group. So groups do not
	// all campaign at once, two nodes seldom campaign for the same group, and the preferred node is most often the
	// first.
	clusterStagger = 100 * time.Millisecond

	maxAppendEntries = 128 // Entries of one AppendEntries call, and so of one group commit.
)

// Group is one Raft group of this node. Its methods are safe for concurrent use.
type Group struct {
	id      uint16
	store   *Store
	raft    *raft.Raft
	log     *pebblelog.Log
	machine *machine
	snaps   *snapshot.Store
	streams *transport.Streams
	safe    transport.Safe
	batcher *proposal.Batcher

	transfers transferGuard
	fullQuota diskspace.Quota

	leadership chan bool
	done       sync.WaitGroup
	raftCalls  sync.WaitGroup // Calls of Raft that askRaft waits for.

	heartbeat          time.Duration // Raft's heartbeat timeout and election timeout.
	opened             time.Time
	leaderObservations chan raft.Observation // Raft's observations of a new leader, here or on another node.
	observer           *raft.Observer

	leaderTerms atomic.Uint64 // Number of terms in which this node knew a leader.
	oldestEntry atomic.Pointer[datedEntry]

	mu             sync.Mutex
	term           uint64        // The term in which this node is ready as leader; 0: it is not ready.
	readyChangedAt time.Time     // When term last changed.
	leaderChange   chan struct{} // Closed and replaced when term or the leader changes.
	closed         bool
}

// raftConfig returns hashicorp/raft's configuration of a group.
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
	c.RestoreCommittedLogs = false // Broken in v1.8.0: an empty configuration, or a deadlock. A test fails when a release repairs it.
	c.NotifyCh = leads
	c.Logger = newHCLog(s.c.Logger.With(slog.Int("group", int(id))))
	return c
}

// watchLeadership keeps Ready in step with Raft's notices of leadership. After each gain it waits until everything from
// before the term is applied. NotifyCh must be drained: it has room for eight notices, and then Raft's main loop waits
// for this goroutine (TestUnreadNoticesStillBlockTheLibrary). So a node whose state machine stands still while it gains
// and loses a group five times does not vote until the machine goes on; the other nodes go on without it
// (TestManyNoticesWhileTheirReaderWaits).
func (g *Group) watchLeadership() {
	for leads := range g.leadership {
		if !leads {
			g.setReady(0)
			g.transfers.leadershipLost()
			continue
		}
		term := g.raft.CurrentTerm()
		// A leader serves when everything committed before its term is applied.
		if err := g.applyBarrier(); errors.Is(err, ErrClosed) {
			continue
		} else if err != nil {
			g.store.c.Logger.Warn("leadership_lost_early", slog.Int("group", int(g.id)), slog.Any("err", err))
			continue
		}
		if g.raft.State() == raft.Leader && g.raft.CurrentTerm() == term {
			g.setReady(term)
		}
		if g.store.draining.Load() {
			g.transferAwayRetrying(g.store.ctx)
		}
	}
}

// watchLeaders wakes the goroutines that wait for a leader as soon as this node knows one, and counts the terms with a
// leader.
func (g *Group) watchLeaders() {
	var last uint64
	for o := range g.leaderObservations {
		if seen, ok := o.Data.(raft.LeaderObservation); ok && seen.LeaderID != "" {
			if term := g.raft.CurrentTerm(); term != last {
				last = term
				g.leaderTerms.Add(1)
			}
			g.mu.Lock()
			g.notifyLeaderChange()
			g.mu.Unlock()
		}
	}
}

// notifyLeaderChange wakes everybody who waits for leaderChanged. REQUIRES: mu is held.
func (g *Group) notifyLeaderChange() {
	close(g.leaderChange)
	g.leaderChange = make(chan struct{})
}

// leaderChanged returns a channel that is closed when this node learns of a leader, or gains or loses the leadership.
func (g *Group) leaderChanged() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leaderChange
}

// leaderSince is the time at which this node became ready as leader, or lost that.
func (g *Group) leaderSince() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.readyChangedAt
}

// askRaft calls ask unless the group is closed, in which case it returns ErrClosed. Raft never answers a call that was
// made just before its shutdown, so close waits for these calls first. REQUIRES: ask returns as long as Raft runs.
func (g *Group) askRaft(ask func() error) error {
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.raftCalls.Add(1)
		defer g.raftCalls.Done()
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
	g.term, g.readyChangedAt = term, time.Now()
	g.notifyLeaderChange()
}

// Ready reports whether this node leads the group and has applied everything from before its term, so that it takes
// commands.
func (g *Group) Ready() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.term != 0 && !g.closed
}

// WaitReady waits until this node is Ready. It returns ErrClosed when the store closes and ctx.Err when ctx ends first.
// On a follower it may wait for ever; see WaitLeader.
func (g *Group) WaitReady(ctx context.Context) error {
	for {
		g.mu.Lock()
		ready, closed, change := g.term != 0, g.closed, g.leaderChange
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

// replicates reports whether this node leads in a term and the server is a member, so that entries are to be sent to
// it.
func (g *Group) replicates(term uint64, id raft.ServerID) bool {
	return g.raft.State() == raft.Leader && g.raft.CurrentTerm() == term &&
		slices.ContainsFunc(g.servers().Servers, func(s raft.Server) bool { return s.ID == id })
}

// Read calls fn with the state of this node at one moment. fn runs beside new commands. It sees every command that this
// node answered as leader before the call; for commands of other leaders call ReadBarrier first, or WaitApplied with
// the index of ProposeAt. The Reader is valid until fn returns and is not safe for concurrent use; a read that fails
// ends the process. Close of the store waits for fn.
//
// It returns fn's error, ErrClosed when the store is closed, or ErrRestoring while a snapshot replaces the state of
// this node.
func (g *Group) Read(fn func(Reader) error) error {
	if !g.store.acquire() {
		return ErrClosed
	}
	defer g.store.release()
	snap, err := g.machine.stateSnapshot()
	if err != nil {
		return err
	}
	err = fn(snap)
	if closeErr := snap.Close(); closeErr != nil {
		g.store.exit.Now("state snapshot cannot be closed", closeErr)
	}
	return err
}

// close stops the group. Commands that Raft has are finished first.
func (g *Group) close() error {
	g.mu.Lock()
	g.closed = true
	g.notifyLeaderChange()
	g.mu.Unlock()
	g.batcher.Close()
	g.raft.DeregisterObserver(g.observer)
	g.raftCalls.Wait()
	down := g.raft.Shutdown()
	g.safe.Disconnect()
	err := down.Error()
	close(g.leadership)
	close(g.leaderObservations)
	g.done.Wait()
	return err
}
