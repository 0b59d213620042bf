package raftstore

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"
)

const (
	joinLagMax = 1_000                  // Entries behind the leader at which a learner may become a voter.
	joinPause  = 500 * time.Millisecond // Up to twice as long.
	// memberPause is how often a member looks whether it still is what it wants to be, up to twice as long.
	memberPause = 2 * time.Second
	// lonelyAfter is how long a member hears of no leader before it asks whether it is a member still.
	lonelyAfter = 10 * time.Second
	refusedLog  = 30 * time.Second // Between two lines about the same refusal.
)

// stayMember keeps this node a member of every group, at its present address, and a voter once it has caught up: after
// joining, after a restart elsewhere, and after it was removed and admitted again. One group after the other. All
// questions may be repeated. A node that was removed is refused until it is admitted, and goes on asking.
func (s *Store) stayMember() {
	if s.c.PeerListen == "" {
		return
	}
	logged := time.Time{}
	for s.life.Err() == nil {
		pause := memberPause
		for _, id := range s.c.Groups {
			err := s.groups[id].stayMember()
			if err == nil {
				continue
			}
			if errors.Is(err, ErrNodeInUse) { // Two of one incarnation must not vote, whoever of them is the copy.
				s.exit.NowWith("another process runs with this node's id",
					"one of the two runs on a copy of the directory: stop that one, delete its copy, and do not rebuild the other", err)
			}
			pause = joinPause
			if s.life.Err() == nil && time.Since(logged) >= refusedLog {
				logged = time.Now()
				s.c.Logger.Warn("not the member this node wants to be yet", slog.Int("group", int(id)), slog.Any("err", err))
			}
			break
		}
		s.pause(pause + rand.N(pause)) //nolint:gosec // jitter, no secret.
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

// stayMember returns nil when the node is what it wants to be, as far as it knows.
func (g *Group) stayMember() error {
	s := g.store
	me, found := g.self()
	if !found || me.Address != raft.ServerAddress(s.address) || g.lonely() {
		if found && voters(g.servers()) == 1 && me.Suffrage == raft.Voter && !g.Ready() {
			return nil // It will lead in a moment.
		}
		q := question{Op: "join", Subject: s.c.NodeID, Server: s.identity.Server, Address: string(s.address), Group: g.id, About: s.about()}
		if err := s.askLeader(s.life, q); err != nil {
			return err
		}
	}
	if me, found = g.self(); found && me.Suffrage == raft.Voter || s.c.Learner || voters(g.servers()) >= VotersMax {
		return nil
	}
	if !g.catchUp() {
		return ErrClosed
	}
	return s.askLeader(s.life, question{Op: "promote", Subject: s.c.NodeID, Group: g.id})
}

// lonely reports that no leader spoke to this node for long.
func (g *Group) lonely() bool {
	if g.Ready() {
		return false
	}
	contact, _ := g.safe.LeaderContact()
	if contact.Before(g.opened) {
		contact = g.opened
	}
	return time.Since(contact) > lonelyAfter
}

// catchUp waits until this node was close behind its leader for JoinSettle. False: the store closes. Raft does not tell a
// leader how far a follower is, so the joining node watches itself by what its leader told it.
func (g *Group) catchUp() bool {
	s := g.store
	for began := time.Now(); time.Since(began) < s.c.JoinSettle; {
		s.pause(min(joinPause, s.c.JoinSettle))
		if s.life.Err() != nil {
			return false
		}
		contact, commit := g.safe.LeaderContact()
		if time.Since(contact) > joinContactMax || commit == 0 || g.raft.AppliedIndex()+joinLagMax < commit {
			began = time.Now()
		}
		if g.lonely() {
			return true // Asks again, and is refused if it was removed.
		}
	}
	return true
}

// joinContactMax is how old the contact of a leader may be that a joining node measures itself by.
const joinContactMax = 2 * time.Second
