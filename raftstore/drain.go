package raftstore

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/membership"
)

const (
	transferTries = 3
	// drainCampaignDelay is how long after the last call of a leader a draining node leaves elections to others. Then
	// it campaigns, because the only complete log may be here, when a leader has just died.
	drainCampaignDelay = 3 * time.Second
)

// Drain transfers every leadership away, each with up to three attempts, and keeps this node from leading again until
// Close, unless no other node can be elected. Close transfers leaderships too; a caller that drains first can wait
// until others have taken over. A node that is alone goes on leading.
//
// It returns an error when this node still leads a group that has another voter, or ctx.Err when ctx ended. The node
// stays in the draining state also after an error, and Drain may be called again.
func (s *Store) Drain(ctx context.Context) error {
	s.startDraining(ctx)
	for _, id := range s.c.Groups {
		if g := s.groups[id]; g.raft.State() == raft.Leader && membership.Voters(g.servers()) > 1 {
			return fmt.Errorf("group %d: no other voter takes the leadership", id)
		}
	}
	return ctx.Err()
}

// startDraining transfers every leadership away, until ctx ends, and keeps this node from leading. It goes on voting
// and replicating. When no other node can be elected it leads until one can. See Group.admission for how it is kept
// from leading.
func (s *Store) startDraining(ctx context.Context) {
	s.draining.Store(true)
	for _, id := range s.c.Groups {
		s.groups[id].transferAwayRetrying(ctx)
	}
}

// transferAwayRetrying transfers the leadership of the group away if this node has it, so that no follower has to
// notice its end by a timeout.
func (g *Group) transferAwayRetrying(ctx context.Context) {
	for range transferTries {
		servers := g.servers()
		if g.raft.State() != raft.Leader || membership.Voters(servers) < 2 {
			return
		}
		if g.lead.TransferAwayWithin(ctx) == nil || ctx.Err() != nil {
			return
		}
	}
}
