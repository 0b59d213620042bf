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
	handOverTries = 3
	// drainShyTime is how long after the last call of a leader an abstaining node leaves elections to others. It must stand
	// in the end: the only complete log may be here, when a leader died just before.
	drainShyTime = 3 * time.Second
)

// Drain hands every leadership over, each with three tries, and keeps this node from leading again until Close, unless
// nobody else can be elected. Close hands over too; who drains before can wait until others have taken over. A node that
// is alone goes on leading.
func (s *Store) Drain(ctx context.Context) error {
	s.abstain(ctx)
	for _, id := range s.c.Groups {
		if g := s.groups[id]; g.raft.State() == raft.Leader && voters(g.servers()) > 1 {
			return fmt.Errorf("group %d: nobody takes the leadership over", id)
		}
	}
	return ctx.Err()
}

// abstain hands every leadership over, as long as ctx lives, and keeps this node from leading. It goes on to vote, and to
// replicate. When nobody else can be elected it leads until somebody can. The brakes of the transport do it; see
// space.brakes.
func (s *Store) abstain(ctx context.Context) {
	s.abstaining.Store(true)
	for _, id := range s.c.Groups {
		s.groups[id].handOver(ctx)
	}
}

// handOver gives away the leadership of the group, if it is here, so that nobody has to notice its end by a timeout.
func (g *Group) handOver(ctx context.Context) {
	for range handOverTries {
		servers := g.servers()
		if g.raft.State() != raft.Leader || voters(servers) < 2 {
			return
		}
		if g.offerWithin(ctx) == nil || ctx.Err() != nil {
			return
		}
	}
}

// offer gives the leadership to the first of the other voters that takes it.
func (g *Group) offer() error {
	err := errors.New("there is no other voter")
	for _, v := range g.successors(g.servers()) {
		if err = g.handTo(v); err == nil {
			break
		}
	}
	return err
}

// offerWithin is offer for those who may have less time than raft tries. It goes on when they have left. BOUND: handOverTries
// goroutines for each Drain.
func (g *Group) offerWithin(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() { answer <- g.whileOpen(g.offer) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// successors are the other voters, who answered last first.
func (g *Group) successors(c raft.Configuration) []raft.Server {
	others := slices.DeleteFunc(slices.Clone(c.Servers), func(s raft.Server) bool {
		return s.Suffrage != raft.Voter || s.ID == g.store.identity.Server
	})
	slices.SortFunc(others, func(a, b raft.Server) int {
		return g.safe.PeerContact(b.ID).Compare(g.safe.PeerContact(a.ID))
	})
	return others
}
