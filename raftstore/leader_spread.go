package raftstore

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

const (
	balancePause  = 10 * time.Second // BOUND: one transfer in this time per node.
	balanceSettle = 60 * time.Second // A leadership younger than this is left alone.
	balanceLag    = 100              // Entries that the preferred leader may be behind.
	balanceSilent = time.Second      // And how long it may have been silent.
)

// candidates are the voters of a group in the order in which they should rather lead it: all voters in the order of their nodes,
// beginning with another one in each group. All nodes come to the same result, and groups with neighbouring ids have different leaders.
func candidates(c raft.Configuration, group uint16) []raft.Server {
	all := slices.DeleteFunc(slices.Clone(c.Servers), func(s raft.Server) bool { return s.Suffrage != raft.Voter })
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b raft.Server) int { return strings.Compare(nodeOf(a.ID), nodeOf(b.ID)) })
	first := int(group) % len(all)
	return slices.Concat(all[first:], all[:first])
}

// preferred is the voter that should lead a group.
func preferred(c raft.Configuration, group uint16) (raft.Server, bool) {
	all := candidates(c, group)
	if len(all) == 0 {
		return raft.Server{}, false
	}
	return all[0], true
}

// rank is how many voters should lead the group before this node does; 0 for one that is no voter.
func rank(c raft.Configuration, group uint16, me raft.ServerID) int {
	return max(slices.IndexFunc(candidates(c, group), func(s raft.Server) bool { return s.ID == me }), 0)
}

// balance gives leaderships to the nodes that should have them. Leaderships pile up otherwise: on the node that started
// first, and away from every node that was restarted.
func (s *Store) balance() {
	for {
		s.pause(balancePause + rand.N(balancePause/10)) //nolint:gosec // jitter, no secret.
		if s.life.Err() != nil {
			return
		}
		for _, id := range s.c.Groups {
			if s.groups[id].balance() {
				break
			}
		}
	}
}

// balance hands the group to its preferred leader if that one is ready for it. True: a transfer was tried.
func (g *Group) balance() bool {
	s := g.store
	to, found := preferred(g.servers(), g.id)
	if !g.Ready() || !found || to.ID == s.identity.Server || time.Since(g.ledSince()) < balanceSettle {
		return false
	}
	if time.Since(g.safe.PeerContact(to.ID)) > balanceSilent {
		return false
	}
	a, err := s.ask(s.life, string(to.Address), question{Op: "progress", Group: g.id})
	if err != nil || a.Server != to.ID || a.Draining || a.Applied+balanceLag < g.raft.AppliedIndex() {
		return false
	}
	err = g.handTo(to)
	s.c.Logger.Info("leadership handed to its preferred node", slog.Int("group", int(g.id)), slog.String("node", nodeOf(to.ID)), slog.Any("err", err))
	return true
}
