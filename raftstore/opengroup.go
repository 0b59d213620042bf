package raftstore

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/leadership"
	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

func (s *Store) openGroup(ctx context.Context, id uint16, address transport.Address) error {
	dir := s.c.FS.PathJoin(s.c.Dir, snapshotsDir, strconv.FormatUint(uint64(id), 10))
	snaps, err := snapshot.Open(s.c.FS, dir, s.c.Logger)
	if err != nil {
		return err
	}
	snaps.SetClusterIDs(s.cluster, s.identity.FormerIDs())
	s.tmpDeleted += snaps.TmpDeleted()
	g := &Group{
		id: id, store: s, log: s.log.Group(id), snaps: snaps, leadership: make(chan bool, 8),
		streams: s.mux.Streams(id, address), leaderObservations: make(chan raft.Observation, 8),
	}
	state := s.state.Group(id)
	g.machine = &machine{store: s, id: id, stateMachine: s.c.Machine(id), state: state, batch: state.NewBatch(), onApply: g.log.SetCommit, snaps: snaps, logSize: logSize{due: make(chan struct{}, 1)}}
	found, err := g.check()
	if err != nil {
		return err
	}
	if err := s.members.CheckDuplicateProcess(ctx, found.servers); err != nil {
		return err
	}
	servers := found.servers
	if len(servers.Servers) == 0 && !s.identity.Joined {
		servers, err = g.bootstrap(address)
		if err != nil {
			return err
		}
	}
	g.safe = transport.New(g.streams, s.c.RPCsInFlight, newHCLog(s.c.Logger.With(slog.Int("group", int(id)))).Named("net"))
	g.safe.SetAdmission(g.admission())
	g.heartbeat = leadership.Timeout + time.Duration(leadership.Rank(servers, id, s.identity.Server))*leadership.Stagger
	config := s.raftConfig(id, g.heartbeat, found.keepState, g.leadership)
	g.raft, err = raft.NewRaft(config, g.machine, g.log, g.log, snapshots{snaps, s.exit, g.installIsStale}, g.safe)
	if err != nil {
		return errors.Join(err, g.safe.Close())
	}
	g.safe.SetReplicationWanted(g.replicates)
	g.safe.SetHasApplied(g.hasApplied)
	g.machine.running.Store(true)
	g.lead = leadership.New(leadership.Config{
		Group: id, Self: s.identity.Server, Raft: g.raft, Transport: g.safe, Heartbeat: g.heartbeat, Context: s.ctx, Exit: s.exit, Logger: s.c.Logger,
		Gained: func() {
			if s.draining.Load() {
				g.transferAwayRetrying(s.ctx)
			}
		},
	})
	g.batcher = proposal.New(g.raft, g.lead.NoteAnswer)
	g.sendBesideTheLog()
	g.observer = raft.NewObserver(g.leaderObservations, false, func(o *raft.Observation) bool { _, is := o.Data.(raft.LeaderObservation); return is })
	g.raft.RegisterObserver(g.observer)
	g.done.Go(func() { g.lead.FollowNotices(g.leadership) })
	g.done.Go(func() { g.lead.FollowLeaders(g.leaderObservations) })
	g.done.Go(g.lead.WatchHeartbeats)
	g.done.Go(g.snapshotLargeLogs)
	s.groups[id] = g
	if membership.IsSoleVoter(servers, s.identity.Server) {
		g.safe.Campaign()
	}
	return nil
}

// sendBesideTheLog makes the batcher send the next entry when Raft's main loop has nothing to do for the last one but to
// wait. In a cluster that is when this node has stored it, because followers have to answer then. A sole voter commits it at
// once, and would store the next entry before that if it had it: there it is when the state machine gets the entry.
func (g *Group) sendBesideTheLog() {
	g.log.OnStored(func(logs []*raft.Log) {
		if g.clustered() {
			g.batcher.Stored(logs)
		}
	})
	committed := g.batcher.Stored
	g.machine.onCommitted.Store(&committed)
}
