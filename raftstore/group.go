package raftstore

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/diskspace"
	"github.com/gavel-ads/gavel/raftstore/leadership"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/statedb"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
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
	lead    *leadership.Group

	fullQuota diskspace.Quota

	leadership chan bool
	done       sync.WaitGroup

	heartbeat          time.Duration         // Raft's heartbeat timeout and election timeout.
	leaderObservations chan raft.Observation // Raft's observations of a new leader, here or on another node.
	observer           *raft.Observer

	oldestEntry atomic.Pointer[datedEntry]
}

// raftConfig returns hashicorp/raft's configuration of a group.
func (s *Store) raftConfig(id uint16, heartbeat time.Duration, keepState bool, leads chan<- bool) *raft.Config {
	c := raft.DefaultConfig()
	c.ProtocolVersion = raft.ProtocolVersionMax
	c.LocalID = s.identity.Server
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = heartbeat, heartbeat, leadership.Lease
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

// Ready reports whether this node leads the group and has applied everything from before its term, so that it takes
// commands.
func (g *Group) Ready() bool { return g.lead.Ready() }

// WaitReady waits until this node is Ready. It returns ErrClosed when the store closes and ctx.Err when ctx ends first.
// On a follower it may wait for ever; see WaitLeader.
func (g *Group) WaitReady(ctx context.Context) error { return g.lead.WaitReady(ctx) }

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
func (g *Group) Read(fn func(Reader) error) error { return g.read(g.machine.stateSnapshot, fn) }

// ReadWritten is Read of the state as it was last written: without the batches since then whose writing the state machine has
// allowed to defer. It costs no write, which takes milliseconds while many of them come.
func (g *Group) ReadWritten(fn func(Reader) error) error {
	return g.read(g.machine.writtenSnapshot, fn)
}

func (g *Group) read(open func() (*statedb.Snapshot, error), fn func(Reader) error) error {
	if !g.store.acquire() {
		return ErrClosed
	}
	defer g.store.release()
	snap, err := open()
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
	g.lead.Close()
	g.batcher.Close()
	g.raft.DeregisterObserver(g.observer)
	g.lead.WaitCalls()
	down := g.raft.Shutdown()
	g.safe.Disconnect()
	err := down.Error()
	close(g.leadership)
	close(g.leaderObservations)
	g.done.Wait()
	return err
}
