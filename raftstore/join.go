package raftstore

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"
)

const (
	joinLagMax = 1_000                  // Entries that a learner may be behind its leader when it becomes a voter.
	joinPause  = 500 * time.Millisecond // Between two attempts; up to twice as long.
	// memberPause is the time between two checks of a member's own membership; up to twice as long.
	memberPause = 2 * time.Second
	// leaderContactMax is how long a member waits for a leader before it asks whether it is still a member.
	leaderContactMax = 10 * time.Second
	refusalLogPause  = 30 * time.Second // Between two log lines about refusals.
)

// maintainMembership keeps this node a member of every group, at its present address, and a voter once it has caught
// up: after joining, after a restart at another address, and after it was removed and admitted again. Groups are
// handled one after the other, and all questions may be repeated. A node that was removed is refused until it is
// admitted, and goes on asking.
//
// A new address enters the configuration the same way. Change the address of one node at a time: a majority must find
// each other by the old ones.
func (s *Store) maintainMembership() {
	if s.c.PeerListen == "" {
		return
	}
	logged := time.Time{}
	for s.ctx.Err() == nil {
		pause := memberPause
		for _, id := range s.c.Groups {
			err := s.groups[id].maintainMembership()
			if err == nil {
				continue
			}
			if errors.Is(err, ErrNodeInUse) { // Two processes of one incarnation must not vote, whichever of them runs on the copy.
				s.exit.NowWithAdvice("another process runs with this node's id",
					"one of the two runs on a copy of the directory: stop that one, delete its copy, and do not rebuild the other", err)
			}
			pause = joinPause
			if s.ctx.Err() == nil && time.Since(logged) >= refusalLogPause {
				logged = time.Now()
				s.c.Logger.Warn("membership_not_yet_as_configured", slog.Int("group", int(id)), slog.Bool("retrying", true), slog.Any("err", err))
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
	case <-s.ctx.Done():
	}
}

// maintainMembership makes at most one change of this node's membership in the group. It returns nil when the
// membership is as configured, as far as this node knows.
func (g *Group) maintainMembership() error {
	s := g.store
	me, found := g.self()
	if !found || me.Address != raft.ServerAddress(s.address) || g.lead.NoContact(leaderContactMax) {
		if found && voters(g.servers()) == 1 && me.Suffrage == raft.Voter && !g.Ready() {
			return nil // It will lead in a moment.
		}
		q := question{Op: "join", Subject: s.c.NodeID, Server: s.identity.Server, Address: string(s.address), Group: g.id, NodeInfo: s.nodeInfo()}
		if err := s.askLeader(s.ctx, q); err != nil {
			return err
		}
	}
	if me, found = g.self(); found && me.Suffrage == raft.Voter || s.c.Learner || voters(g.servers()) >= VotersMax {
		return nil
	}
	if !g.waitCaughtUp() {
		return ErrClosed
	}
	return s.askLeader(s.ctx, question{Op: "promote", Subject: s.c.NodeID, Group: g.id})
}

// waitCaughtUp waits until this node was close behind its leader for JoinSettle, or has no contact to a leader. It
// returns false when the store closes. Raft does not report to a leader how far a follower has applied, so the joining
// node measures itself by the commit index that its leader sends.
func (g *Group) waitCaughtUp() bool {
	s := g.store
	for began := time.Now(); time.Since(began) < s.c.JoinSettle; {
		s.pause(min(joinPause, s.c.JoinSettle))
		if s.ctx.Err() != nil {
			return false
		}
		contact, commit := g.safe.LeaderContact()
		if time.Since(contact) > joinContactMax || commit == 0 || g.raft.AppliedIndex()+joinLagMax < commit {
			began = time.Now()
		}
		if g.lead.NoContact(leaderContactMax) {
			return true // The caller asks again, and is refused if this node was removed.
		}
	}
	return true
}

// joinContactMax is the largest age of the leader's last call that a joining node measures itself by.
const joinContactMax = 2 * time.Second
