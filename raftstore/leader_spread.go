package raftstore

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	spreadPause      = 10 * time.Second // BOUND: one transfer in this time per node.
	spreadAgeMin     = 60 * time.Second // A leadership younger than this is not transferred.
	spreadLagMax     = 100              // Entries that the preferred leader may be behind.
	spreadContactMax = time.Second      // Largest age of its last answer.
)

// leaderOrder returns the voters of a group, the preferred leader first: all voters in the order of their node ids,
// beginning with another one in each group. All nodes compute the same order, and groups with neighbouring ids have
// different leaders.
func leaderOrder(c raft.Configuration, group uint16) []raft.Server {
	all := slices.DeleteFunc(slices.Clone(c.Servers), func(s raft.Server) bool { return s.Suffrage != raft.Voter })
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b raft.Server) int { return strings.Compare(transport.NodeOf(a.ID), transport.NodeOf(b.ID)) })
	first := int(group) % len(all)
	return slices.Concat(all[first:], all[:first])
}

// preferredLeader returns the voter that should lead a group.
func preferredLeader(c raft.Configuration, group uint16) (raft.Server, bool) {
	all := leaderOrder(c, group)
	if len(all) == 0 {
		return raft.Server{}, false
	}
	return all[0], true
}

// leaderRank is the number of voters that should lead the group before this node does; 0 for a node that is not a
// voter.
func leaderRank(c raft.Configuration, group uint16, me raft.ServerID) int {
	return max(slices.IndexFunc(leaderOrder(c, group), func(s raft.Server) bool { return s.ID == me }), 0)
}

// spreadLeaders transfers leaderships to the nodes that should have them. Otherwise they gather on the node that
// started first, and leave every node that was restarted.
func (s *Store) spreadLeaders() {
	for {
		s.pause(spreadPause + rand.N(spreadPause/10)) //nolint:gosec // jitter, no secret.
		if s.ctx.Err() != nil {
			return
		}
		for _, id := range s.c.Groups {
			if s.groups[id].transferToPreferred() {
				break
			}
		}
	}
}

// transferToPreferred transfers the group to its preferred leader if that node is ready for it. It returns true when a
// transfer was attempted.
func (g *Group) transferToPreferred() bool {
	s := g.store
	to, found := preferredLeader(g.servers(), g.id)
	if !g.Ready() || !found || to.ID == s.identity.Server || time.Since(g.leaderSince()) < spreadAgeMin {
		return false
	}
	if time.Since(g.safe.PeerContact(to.ID)) > spreadContactMax {
		return false
	}
	a, err := s.ask(s.ctx, string(to.Address), question{Op: "progress", Group: g.id})
	if err != nil || a.Server != to.ID || a.Draining || a.Applied+spreadLagMax < g.raft.AppliedIndex() {
		return false
	}
	err = g.transferTo(to)
	s.c.Logger.Info("leadership_transferred", slog.Int("group", int(g.id)), slog.String("node", transport.NodeOf(to.ID)), slog.Any("err", err))
	return true
}
