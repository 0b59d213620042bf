package raftstore

import (
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"
)

// heartbeatCheckPause is the time between two checks of a follower's last contact with its leader; up to twice as long.
const heartbeatCheckPause = 50 * time.Millisecond

// watchHeartbeats makes Raft check its heartbeat timer as soon as a leader has been silent for the timeout.
//
// Raft checks when a timer of one to two timeouts fires, and if the silence is too short then, after another such
// timer: three timeouts in the worst case. And the first follower to notice is refused by the others as long as they
// believe in the leader, and then waits for one to two timeouts again. When each follower notices in time, a little
// after the one before (see clusterStagger), the second one is ready to vote for the first, which is elected.
//
// This decides nothing: Raft compares the silence with its timeout itself, asks for pre-votes, and keeps its own timers
// for the rest. Here the silence begins when a call arrives, not when Raft processes it, so a follower whose own disk
// stalls does not treat its leader as silent. But it does not begin before Raft has processed the last call either,
// where Raft's own measure begins: Raft would find that silence too short, and nothing would make it check again.
func (g *Group) watchHeartbeats() {
	noticed := time.Time{}
	for g.store.ctx.Err() == nil {
		g.store.pause(heartbeatCheckPause + rand.N(heartbeatCheckPause)) //nolint:gosec // jitter, no secret.
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
			g.checkHeartbeatTimer()
		}
	}
}

// checkHeartbeatTimer makes Raft check its heartbeat timer now. Raft does that after the timeout was shortened.
func (g *Group) checkHeartbeatTimer() {
	rc := g.raft.ReloadableConfig()
	rc.HeartbeatTimeout, rc.ElectionTimeout = g.heartbeat+time.Millisecond, g.heartbeat+time.Millisecond
	_ = g.raft.ReloadConfig(rc) // Both are valid.
	rc.HeartbeatTimeout, rc.ElectionTimeout = g.heartbeat, g.heartbeat
	_ = g.raft.ReloadConfig(rc)
}
