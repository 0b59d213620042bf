package leadership

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// HeartbeatCheckPause is the time between two checks of a follower's last contact with its leader; up to twice as long.
const HeartbeatCheckPause = 50 * time.Millisecond

// WatchHeartbeats makes Raft check its heartbeat timer as soon as a leader has been silent for the timeout. It returns
// when the store closes.
//
// Raft checks when a timer of one to two timeouts fires, and if the silence is too short then, after another such
// timer: three timeouts in the worst case. And the first follower to notice is refused by the others as long as they
// believe in the leader, and then waits for one to two timeouts again. When each follower notices in time, a little
// after the one before (see Stagger), the second one is ready to vote for the first, which is elected.
//
// This decides nothing: Raft compares the silence with its timeout itself, asks for pre-votes, and keeps its own timers
// for the rest. Here the silence begins when a call arrives, not when Raft processes it, so a follower whose own disk
// stalls does not treat its leader as silent. But it does not begin before Raft has processed the last call either,
// where Raft's own measure begins: Raft would find that silence too short, and nothing would make it check again.
func (g *Group) WatchHeartbeats() {
	noticed := time.Time{}
	for g.c.Context.Err() == nil {
		g.pause(HeartbeatCheckPause + rand.N(HeartbeatCheckPause)) //nolint:gosec // jitter, no secret.
		contact, _ := g.c.Transport.LeaderContact()
		if dealt := g.c.Raft.LastContact(); dealt.After(contact) {
			contact = dealt
		}
		if contact.IsZero() {
			contact = g.opened
		}
		if time.Since(contact) <= g.c.Heartbeat || contact.Equal(noticed) || g.c.Raft.State() != raft.Follower {
			continue
		}
		noticed = contact
		voter := func(s raft.Server) bool { return s.ID == g.c.Self && s.Suffrage == raft.Voter }
		if slices.ContainsFunc(g.servers(), voter) {
			g.checkHeartbeatTimer()
		}
	}
}

// checkHeartbeatTimer makes Raft check its heartbeat timer now. Raft does that after the timeout was shortened.
func (g *Group) checkHeartbeatTimer() {
	rc := g.c.Raft.ReloadableConfig()
	rc.HeartbeatTimeout, rc.ElectionTimeout = g.c.Heartbeat+time.Millisecond, g.c.Heartbeat+time.Millisecond
	_ = g.c.Raft.ReloadConfig(rc) // Both are valid.
	rc.HeartbeatTimeout, rc.ElectionTimeout = g.c.Heartbeat, g.c.Heartbeat
	_ = g.c.Raft.ReloadConfig(rc)
}
