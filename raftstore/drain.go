package raftstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
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
		if g := s.groups[id]; g.raft.State() == raft.Leader && voters(g.servers()) > 1 {
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
		if g.raft.State() != raft.Leader || voters(servers) < 2 {
			return
		}
		if g.transferAwayWithin(ctx) == nil || ctx.Err() != nil {
			return
		}
	}
}

// transferAway transfers the leadership to the first of the other voters that takes it.
func (g *Group) transferAway() error {
	err := errors.New("there is no other voter")
	for _, v := range g.successors(g.servers()) {
		if err = g.transferTo(v); err == nil {
			break
		}
	}
	return err
}

// transferAwayWithin is transferAway for callers that may have less time than Raft takes. The transfer goes on after
// they left. BOUND: transferTries goroutines for each Drain.
func (g *Group) transferAwayWithin(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() { answer <- g.askRaft(g.transferAway) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// successors returns the other voters, those that answered most recently first.
func (g *Group) successors(c raft.Configuration) []raft.Server {
	others := slices.DeleteFunc(slices.Clone(c.Servers), func(s raft.Server) bool {
		return s.Suffrage != raft.Voter || s.ID == g.store.identity.Server
	})
	slices.SortFunc(others, func(a, b raft.Server) int {
		return g.safe.PeerContact(b.ID).Compare(g.safe.PeerContact(a.ID))
	})
	return others
}
