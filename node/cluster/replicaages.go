package cluster

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// ReplicaAges measures how old this node's replica of each group is, and names the groups whose campaigns auctions must
// leave out as stale. It is safe for concurrent use.
//
// The leader of a group commits its own time several times a second (clock.go). The age of a replica is the larger of
// two durations: how far the local clock is ahead of the leader's time in the newest applied tick, and how long ago, by
// the monotonic clock, that tick was applied here. The first detects a node that applies old entries, which contact
// with the leader would not; the second does not depend on any wall clock.
//
// From both follows, when a tick is applied, at what time the replica will turn stale. Therefore the check of an
// auction is one load and one comparison until the first group is due, and it is exact even for a process that was
// stopped for a minute, because no goroutine has to run for it.
//
// A group of which this node is the only voter is never stale: no other node can have changed it.
type ReplicaAges struct {
	limit    time.Duration
	now      func() time.Time
	start    time.Time    // Start of the times below.
	firstDue atomic.Int64 // When the first group turns stale; until then no group has to be checked.

	mu     sync.Mutex // Serializes writers.
	groups []groupAge
}

// groupAge is the age of one group. Times are nanoseconds since start.
type groupAge struct {
	id           ids.Group
	hasCampaigns bool // The group holds campaigns.
	due          atomic.Int64
	tickedAt     atomic.Int64 // When the newest tick was applied; 0: none since the state was loaded.
	behind       atomic.Int64 // How far the tick's time was behind the local clock then, at least 0.
	soleVoter    atomic.Bool
	fenced       atomic.Uint64 // Requests that found the group stale.
}

// NewReplicaAges returns ReplicaAges in which every group is stale until its first tick. A replica turns stale when it
// is older than limit.
func NewReplicaAges(t ids.Topology, limit time.Duration, now func() time.Time) *ReplicaAges {
	f := &ReplicaAges{limit: limit, now: now, start: now()}
	all := t.Groups()
	f.groups = make([]groupAge, len(all))
	for i, g := range all {
		f.groups[i].id, f.groups[i].hasCampaigns = g, g != 0
	}
	return f
}

// Stale adds the groups that are stale at a time to a set and reports whether there are any.
func (f *ReplicaAges) Stale(at time.Time, into *auction.Groups) bool {
	since := int64(at.Sub(f.start))
	if since < f.firstDue.Load() {
		return false
	}
	found := false
	for i := range f.groups {
		g := &f.groups[i]
		if g.hasCampaigns && since >= g.due.Load() {
			into.Add(uint16(g.id))
			g.fenced.Add(1)
			found = true
		}
	}
	return found
}

// Fresh reports whether no group is stale now, the groups without campaigns included.
func (f *ReplicaAges) Fresh() bool {
	since := int64(f.now().Sub(f.start))
	for i := range f.groups {
		if since >= f.groups[i].due.Load() {
			return false
		}
	}
	return true
}

// stale reports whether a group is stale now.
func (f *ReplicaAges) stale(id ids.Group) bool {
	return int64(f.now().Sub(f.start)) >= f.group(id).due.Load()
}

// Age describes the replica of a group.
type Age struct {
	Staleness time.Duration // Age of the newest tick, or time since the start.
	Fenced    uint64        // Requests that found the group stale.
}

// Age returns the age of a group's replica. REQUIRES: the topology has the group.
func (f *ReplicaAges) Age(id ids.Group) Age {
	g := f.group(id)
	if g.soleVoter.Load() {
		return Age{Fenced: g.fenced.Load()}
	}
	since := int64(f.now().Sub(f.start))
	return Age{Staleness: time.Duration(since - g.tickedAt.Load() + g.behind.Load()), Fenced: g.fenced.Load()}
}

func (f *ReplicaAges) group(id ids.Group) *groupAge {
	for i := range f.groups {
		if f.groups[i].id == id {
			return &f.groups[i]
		}
	}
	panic("cluster: a group outside the topology")
}

// record stores that a tick with the leader's time was applied; 0 deletes the last one.
func (f *ReplicaAges) record(id ids.Group, leaderMillis int64) {
	g, now := f.group(id), f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	g.tickedAt.Store(0)
	g.behind.Store(0)
	if leaderMillis != 0 {
		g.tickedAt.Store(int64(now.Sub(f.start)))
		g.behind.Store(int64(max(0, time.Duration(now.UnixMilli()-leaderMillis)*time.Millisecond)))
	}
	f.update(g)
}

// setSoleVoter sets whether this node is the only voter of a group.
func (f *ReplicaAges) setSoleVoter(id ids.Group, sole bool) {
	g := f.group(id)
	if g.soleVoter.Load() == sole {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g.soleVoter.Store(sole)
	f.update(g)
}

// update computes when a group turns stale, and when the first of all does. LOCKS: mu is held.
func (f *ReplicaAges) update(g *groupAge) {
	switch ticked := g.tickedAt.Load(); {
	case g.soleVoter.Load():
		g.due.Store(math.MaxInt64)
	case ticked == 0:
		g.due.Store(0)
	default:
		g.due.Store(ticked + int64(f.limit) - g.behind.Load())
	}
	first := int64(math.MaxInt64)
	for i := range f.groups {
		if f.groups[i].hasCampaigns {
			first = min(first, f.groups[i].due.Load())
		}
	}
	f.firstDue.Store(first)
}

// Machine returns a state machine that calls m and records the ticks that it applies in these ReplicaAges.
func (f *ReplicaAges) Machine(g ids.Group, m raftstore.StateMachine) raftstore.StateMachine {
	return &tickRecorder{StateMachine: m, ages: f, group: g}
}

// tickRecorder is a state machine that records ticks. A tick counts when auctions can see what was applied with it.
type tickRecorder struct {
	raftstore.StateMachine
	ages         *ReplicaAges
	group        ids.Group
	leaderMillis int64 // The leader's time in the last tick of the batch; 0: none.
}

// Load deletes the recorded tick, because the age of a state from disk or from a snapshot is unknown.
func (l *tickRecorder) Load(r raftstore.Reader) error {
	l.leaderMillis = 0
	l.ages.record(l.group, 0)
	return l.StateMachine.Load(r)
}

// Apply looks for ticks. Only leaders propose them; other commands carry the time of whichever node received them.
func (l *tickRecorder) Apply(b raftstore.Batch, cmd []byte) []byte {
	if len(cmd) >= command.HeaderLen && command.Op(cmd[1]) == command.OpAdvance {
		if c, err := command.Open(cmd); err == nil {
			l.leaderMillis = c.NowMillis
		}
	}
	return l.StateMachine.Apply(b, cmd)
}

// Committed records the last tick of the batch.
func (l *tickRecorder) Committed() {
	l.StateMachine.Committed()
	if l.leaderMillis != 0 {
		l.ages.record(l.group, l.leaderMillis)
		l.leaderMillis = 0
	}
}
