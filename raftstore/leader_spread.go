package raftstore

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/gavel-ads/gavel/raftstore/leadership"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	spreadPause      = 10 * time.Second // BOUND: one transfer in this time per node.
	spreadAgeMin     = 60 * time.Second // A leadership younger than this is not transferred.
	spreadLagMax     = 100              // Entries that the preferred leader may be behind.
	spreadContactMax = time.Second      // Largest age of its last answer.
)

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
	to, found := leadership.Preferred(g.servers(), g.id)
	if !g.Ready() || !found || to.ID == s.identity.Server || time.Since(g.lead.Since()) < spreadAgeMin {
		return false
	}
	if time.Since(g.safe.PeerContact(to.ID)) > spreadContactMax {
		return false
	}
	a, _, err := askProgress.Ask(s.ctx, s.control, string(to.Address), progressQuestion{g.id})
	if err != nil || a.Server != to.ID || a.Avoids || a.Applied+spreadLagMax < g.raft.AppliedIndex() {
		return false
	}
	err = g.lead.TransferTo(to)
	s.c.Logger.Info("leadership_transferred", slog.Int("group", int(g.id)), slog.String("node", transport.NodeOf(to.ID)), slog.Any("err", err))
	return true
}
