package membership

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/proposal"
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

// Keep keeps this node a member of every group, at its present address, and a voter once it has caught
// up: after joining, after a restart at another address, and after it was removed and admitted again. Groups are
// handled one after the other, and all questions may be repeated. A node that was removed is refused until it is
// admitted, and goes on asking. It returns when the store closes.
//
// A new address enters the configuration the same way. Change the address of one node at a time: a majority must find
// each other by the old ones.
func (m *Members) Keep() {
	if !m.peers.c.HasPort {
		return
	}
	logged := time.Time{}
	for m.ctx.Err() == nil {
		pause := memberPause
		for _, id := range m.order {
			err := m.groups[id].keep()
			if err == nil {
				continue
			}
			if errors.Is(err, ErrNodeInUse) { // Two processes of one incarnation must not vote, whichever of them runs on the copy.
				m.exit.NowWithAdvice("another process runs with this node's id",
					"one of the two runs on a copy of the directory: stop that one, delete its copy, and do not rebuild the other", err)
			}
			pause = joinPause
			if m.ctx.Err() == nil && time.Since(logged) >= refusalLogPause {
				logged = time.Now()
				m.logger().Warn("membership_not_yet_as_configured", slog.Int("group", int(id)), slog.Bool("retrying", true), slog.Any("err", err))
			}
			break
		}
		m.pause(pause + rand.N(pause)) //nolint:gosec // jitter, no secret.
	}
}

// keep makes at most one change of this node's membership in the group. It returns nil when the
// membership is as configured, as far as this node knows.
func (g *Group) keep() error {
	m := g.members
	me, found := g.self()
	if !found || me.Address != raft.ServerAddress(m.peers.address) || g.Lead.NoContact(leaderContactMax) {
		if found && Voters(g.servers()) == 1 && me.Suffrage == raft.Voter && !g.Lead.Ready() {
			return nil // It will lead in a moment.
		}
		a := applicant{Node: m.peers.c.Node, Server: m.identity.Server, Address: m.peers.address, NodeInfo: m.peers.c.NodeInfo()}
		if err := askLeader(m.ctx, m, joinGroup, request[applicant]{g.ID, a}); err != nil {
			return err
		}
	}
	if me, found = g.self(); found && me.Suffrage == raft.Voter || m.peers.c.Learner || Voters(g.servers()) >= VotersMax {
		return nil
	}
	if !g.waitCaughtUp() {
		return proposal.ErrClosed
	}
	return askLeader(m.ctx, m, promote, request[promotion]{g.ID, promotion{m.peers.c.Node}})
}

// waitCaughtUp waits until this node was close behind its leader for JoinSettle, or has no contact to a leader. It
// returns false when the store closes. Raft does not report to a leader how far a follower has applied, so the joining
// node measures itself by the commit index that its leader sends.
func (g *Group) waitCaughtUp() bool {
	m, settle := g.members, g.members.peers.c.JoinSettle
	for began := time.Now(); time.Since(began) < settle; {
		m.pause(min(joinPause, settle))
		if m.ctx.Err() != nil {
			return false
		}
		contact, commit := g.Transport.LeaderContact()
		if time.Since(contact) > joinContactMax || commit == 0 || g.Raft.AppliedIndex()+joinLagMax < commit {
			began = time.Now()
		}
		if g.Lead.NoContact(leaderContactMax) {
			return true // The caller asks again, and is refused if this node was removed.
		}
	}
	return true
}

// joinContactMax is the largest age of the leader's last call that a joining node measures itself by.
const joinContactMax = 2 * time.Second
