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
	s.abstain(true)
	for _, id := range s.c.Groups {
		if g := s.groups[id]; g.raft.State() == raft.Leader && voters(g.servers()) > 1 {
			return fmt.Errorf("group %d: nobody takes the leadership over", id)
		}
	}
	return ctx.Err()
}

// abstain hands every leadership over and keeps this node from leading, or lets it again. It goes on to vote, and to
// replicate. When nobody else can be elected it leads until somebody can. The brakes of the transport do it; see
// space.brakes.
func (s *Store) abstain(on bool) {
	s.abstaining.Store(on)
	for _, id := range s.c.Groups {
		if on {
			s.groups[id].handOver()
		}
	}
}

// handOver gives away the leadership of the group, if it is here, so that nobody has to notice its end by a timeout.
func (g *Group) handOver() {
	for range handOverTries {
		servers := g.servers()
		if g.raft.State() != raft.Leader || voters(servers) < 2 {
			return
		}
		if g.offer() == nil {
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
