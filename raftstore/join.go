package raftstore

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"
)

const (
	joinLagMax = 1_000                  // Entries behind the leader at which a learner may become a voter.
	joinPause  = 500 * time.Millisecond // Up to twice as long.
)

// join makes a node that came to an existing cluster a learner of each group, one after the other, and a voter when it has
// caught up. A restart goes on where it stopped. A node that was removed is in no configuration it knows and stays away.
func (s *Store) join() {
	if !s.identity.Joined {
		return
	}
	for _, id := range s.c.Groups {
		g := s.groups[id]
		servers := g.servers()
		if _, found := find(servers, s.c.NodeID); len(servers.Servers) > 0 && !found {
			continue
		}
		for s.life.Err() == nil {
			err := g.joinOnce()
			if err == nil {
				break
			}
			s.c.Logger.Warn("cannot join yet", slog.Int("group", int(id)), slog.Any("err", err))
			s.pause(joinPause + rand.N(joinPause))
		}
	}
}

func (s *Store) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.life.Done():
	}
}

// joinOnce returns nil when the node is what it wants to be.
func (g *Group) joinOnce() error {
	s := g.store
	me, found := find(g.servers(), s.c.NodeID)
	if found && me.Suffrage == raft.Voter {
		return nil
	}
	q := question{Op: "join", Subject: s.c.NodeID, Address: string(s.address), Group: g.id}
	if !found {
		if err := s.askLeader(s.life, q); err != nil {
			return err
		}
	}
	if s.c.Learner {
		return nil
	}
	for began := time.Now(); time.Since(began) < s.c.JoinSettle; {
		s.pause(min(joinPause, s.c.JoinSettle))
		if s.life.Err() != nil {
			return ErrClosed
		}
		contact, commit := g.safe.LeaderContact()
		if time.Since(contact) > clusterTimeout || g.raft.AppliedIndex()+joinLagMax < commit {
			began = time.Now()
		}
	}
	q.Op = "promote"
	return s.askLeader(s.life, q)
}
