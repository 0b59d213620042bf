package raftstore

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/diskspace"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// avoidsLeadership reports whether this node leaves leadership to others: it drains, or its clock is wrong.
func (s *Store) avoidsLeadership() bool { return s.draining.Load() || s.clocks.wrong.Load() }

// admission limits what Raft of a group may do while the disk is nearly full, and while this node avoids leadership.
func (g *Group) admission() transport.Admission {
	s := g.store
	return transport.Admission{
		// Other nodes go first. But when no node is elected for a while, this one must be.
		MayCampaign: func() bool {
			contact, _ := g.safe.LeaderContact()
			if s.avoidsLeadership() && time.Since(contact) < drainCampaignDelay {
				return false // After that time it campaigns, and transfers the leadership when the others have its log.
			}
			return s.space.MayCampaign(contact)
		},
		MayLead: func() bool { return !s.space.Low() && !s.avoidsLeadership() },
		MayStore: func(term uint64, entries []*raft.Log) bool {
			return !s.space.Full() || g.fullQuota.Admit(s.space, term, diskspace.EntriesToAppend(g.log, entries))
		},
		MayInstall: s.space.MayInstall,
	}
}

// transferPause is the time between two rounds in which a Low node transfers its leaderships away.
const transferPause = 2 * time.Second

// Space returns the result of the last measurement of free space. It takes a mutex and measures nothing.
func (s *Store) Space() diskspace.Status { return s.space.Status() }

// newestSnapshotBytes is the size of the largest of the newest snapshots of the groups.
func (s *Store) newestSnapshotBytes() (newest int64) {
	for _, g := range s.groups {
		newest = max(newest, g.snaps.NewestBytes())
	}
	return newest
}

// watchSpace measures free space every Config.SpaceInterval until the store closes, and transfers leaderships away
// while the node is Low.
func (s *Store) watchSpace() {
	if !s.Space().Watched {
		return
	}
	var transferring atomic.Bool // BOUND: one round of transfers at a time.
	for s.ctx.Err() == nil {
		s.pause(s.c.SpaceInterval)
		s.space.Measure()
		if s.space.Low() && transferring.CompareAndSwap(false, true) {
			s.background.Go(func() {
				defer transferring.Store(false)
				s.transferAll()
			})
		}
	}
}

// transferAll transfers the leaderships of this node to voters that take them. A group that no voter takes stays here
// and refuses writes.
func (s *Store) transferAll() {
	for _, g := range s.groups {
		if g.raft.State() == raft.Leader {
			_ = g.lead.TransferAway() // The next round tries again.
		}
	}
	s.pause(transferPause)
}
