package raftstore

import (
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"
)

// silencePause is how often a follower looks whether its leader is silent, up to twice as long.
const silencePause = 50 * time.Millisecond

// noticeSilence lets raft look at its heartbeat timer as soon as a leader has been silent for the timeout.
//
// Raft looks when a timer of one to two timeouts fires, and if the silence is too short then, after another such timer: three
// timeouts in the worst case. And the first follower to notice is refused by the others as long as they believe in the
// leader, then waits for one to two timeouts again. With each follower noticing in time, a little after the one before (see
// clusterStagger), the second finds the first without a leader and is elected.
//
// This decides nothing: raft compares the silence with its timeout itself, asks for pre-votes, and keeps its own timers for
// the rest. The silence here begins when a call arrives, not when raft gets to it, so a follower whose own disk stalls
// does not take its leader for silent. But not before raft has dealt with the last call either, where its own silence begins:
// raft would find that one too short, and nobody would ask it again.
func (g *Group) noticeSilence() {
	noticed := time.Time{}
	for g.store.life.Err() == nil {
		g.store.pause(silencePause + rand.N(silencePause)) //nolint:gosec // jitter, no secret.
		contact, _ := g.safe.LeaderContact()
		if dealt := g.raft.LastContact(); dealt.After(contact) {
			contact = dealt
		}
		if contact.IsZero() {
			contact = g.opened
		}
		if time.Since(contact) <= g.heartbeat || contact.Equal(noticed) || g.raft.State() != raft.Follower {
			continue
		}
		noticed = contact
		if me, found := g.self(); found && me.Suffrage == raft.Voter {
			g.lookAtTimer()
		}
	}
}

// lookAtTimer makes raft look at its heartbeat timer now. That is what it does after the timeout was shortened.
func (g *Group) lookAtTimer() {
	rc := g.raft.ReloadableConfig()
	rc.HeartbeatTimeout, rc.ElectionTimeout = g.heartbeat+time.Millisecond, g.heartbeat+time.Millisecond
	_ = g.raft.ReloadConfig(rc) // Both are valid.
	rc.HeartbeatTimeout, rc.ElectionTimeout = g.heartbeat, g.heartbeat
	_ = g.raft.ReloadConfig(rc)
}
