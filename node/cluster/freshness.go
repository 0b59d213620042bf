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

// Freshness knows how old this node's copy of each group is, and names the groups that auctions may no longer sell from.
//
// The leader of a group commits its own time several times a second (clock.go). The age of a copy is the larger of two:
// how far the local clock is past the leader's in the newest such tick, and how long ago, by the monotonic clock, that
// tick was applied here. The first notices a node that applies old entries, which contact with the leader would not; the
// second does not believe any wall clock.
//
// Both say when a copy turns stale, as soon as a tick is applied. So the question of an auction is one load and one
// comparison until the first group is due, and it is exact even for a process that was stopped for a minute, because
// nobody has to run in order to notice.
//
// A group that this node is the only voter of is never stale: nobody else can have changed it.
type Freshness struct {
	limit time.Duration
	now   func() time.Time
	began time.Time    // Zero of the times below.
	due   atomic.Int64 // When the first group turns stale; until then nobody has to look closer.

	mu     sync.Mutex // Held by writers.
	groups []groupAge
}

// groupAge is the age of one group. Times are nanoseconds since began.
type groupAge struct {
	id     ids.Group
	counts bool // It carries campaigns.
	due    atomic.Int64
	heard  atomic.Int64 // When the tick was applied; 0: none since the state was loaded.
	behind atomic.Int64 // How far the tick's time was behind the local clock then, at least 0.
	alone  atomic.Bool
	fenced atomic.Uint64 // Requests that met the group stale.
}

// NewFreshness returns a Freshness by which every group is stale until it is heard of.
func NewFreshness(t ids.Topology, limit time.Duration, now func() time.Time) *Freshness {
	f := &Freshness{limit: limit, now: now, began: now()}
	all := t.Groups()
	f.groups = make([]groupAge, len(all))
	for i, g := range all {
		f.groups[i].id, f.groups[i].counts = g, g != 0
	}
	return f
}

// Stale puts the groups that are stale at a time into a set and reports whether there are any.
func (f *Freshness) Stale(at time.Time, into *auction.Groups) bool {
	since := int64(at.Sub(f.began))
	if since < f.due.Load() {
		return false
	}
	found := false
	for i := range f.groups {
		g := &f.groups[i]
		if g.counts && since >= g.due.Load() {
			into.Add(uint16(g.id))
			g.fenced.Add(1)
			found = true
		}
	}
	return found
}

// Fresh reports whether no group is stale now, groups without campaigns included.
func (f *Freshness) Fresh() bool {
	since := int64(f.now().Sub(f.began))
	for i := range f.groups {
		if since >= f.groups[i].due.Load() {
			return false
		}
	}
	return true
}

// stale reports whether a group is stale now.
func (f *Freshness) stale(id ids.Group) bool {
	return int64(f.now().Sub(f.began)) >= f.group(id).due.Load()
}

// Age is what is known about a group.
type Age struct {
	Staleness time.Duration // Since the newest tick, or since the start.
	Fenced    uint64        // Requests that met the group stale.
}

// Age reports on a group. REQUIRES: the topology has it.
func (f *Freshness) Age(id ids.Group) Age {
	g := f.group(id)
	if g.alone.Load() {
		return Age{Fenced: g.fenced.Load()}
	}
	since := int64(f.now().Sub(f.began))
	return Age{Staleness: time.Duration(since - g.heard.Load() + g.behind.Load()), Fenced: g.fenced.Load()}
}

func (f *Freshness) group(id ids.Group) *groupAge {
	for i := range f.groups {
		if f.groups[i].id == id {
			return &f.groups[i]
		}
	}
	panic("cluster: a group outside the topology")
}

// tell notes that a tick with the leader's time was applied; 0 forgets the last one.
func (f *Freshness) tell(id ids.Group, leaderMillis int64) {
	g, now := f.group(id), f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	g.heard.Store(0)
	g.behind.Store(0)
	if leaderMillis != 0 {
		g.heard.Store(int64(now.Sub(f.began)))
		g.behind.Store(int64(max(0, time.Duration(now.UnixMilli()-leaderMillis)*time.Millisecond)))
	}
	f.update(g)
}

// setAlone says whether this node is the only voter of a group.
func (f *Freshness) setAlone(id ids.Group, alone bool) {
	g := f.group(id)
	if g.alone.Load() == alone {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g.alone.Store(alone)
	f.update(g)
}

// update computes when a group turns stale, and the first of all. LOCKS: mu is held.
func (f *Freshness) update(g *groupAge) {
	switch heard := g.heard.Load(); {
	case g.alone.Load():
		g.due.Store(math.MaxInt64)
	case heard == 0:
		g.due.Store(0)
	default:
		g.due.Store(heard + int64(f.limit) - g.behind.Load())
	}
	first := int64(math.MaxInt64)
	for i := range f.groups {
		if f.groups[i].counts {
			first = min(first, f.groups[i].due.Load())
		}
	}
	f.due.Store(first)
}

// Machine returns the state machine of a group that tells this Freshness of the ticks it applies.
func (f *Freshness) Machine(g ids.Group, m raftstore.StateMachine) raftstore.StateMachine {
	return &listener{StateMachine: m, freshness: f, group: g}
}

// listener is a state machine whose ticks are heard. They count when auctions can see what was applied with them.
type listener struct {
	raftstore.StateMachine
	freshness *Freshness
	group     ids.Group
	told      int64 // The leader's time in the last tick of the batch; 0: none.
}

// Load forgets what was heard: nobody knows how old a state from disk or from a snapshot is.
func (l *listener) Load(r raftstore.Reader) error {
	l.told = 0
	l.freshness.tell(l.group, 0)
	return l.StateMachine.Load(r)
}

// Apply listens for ticks. They come from leaders only; other commands carry the time of whichever node took them.
func (l *listener) Apply(b raftstore.Batch, cmd []byte) []byte {
	if len(cmd) >= command.HeaderLen && command.Op(cmd[1]) == command.OpAdvance {
		if c, err := command.Open(cmd); err == nil {
			l.told = c.NowMillis
		}
	}
	return l.StateMachine.Apply(b, cmd)
}

// Committed passes on what the batch told.
func (l *listener) Committed() {
	l.StateMachine.Committed()
	if l.told != 0 {
		l.freshness.tell(l.group, l.told)
		l.told = 0
	}
}
