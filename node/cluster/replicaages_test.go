package cluster

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// ages is a ReplicaAges with a clock that the test moves.
type ages struct {
	*testing.T
	*ReplicaAges
	at time.Time
}

const limit = 3 * time.Second

func newAges(t *testing.T, dataGroups int) *ages {
	a := &ages{T: t, at: time.Now()}
	a.ReplicaAges = NewReplicaAges(ids.Topology{DataGroups: dataGroups}, limit, func() time.Time { return a.at })
	a.at = a.at.Add(time.Hour)
	return a
}

// want compares the groups that are stale now with a list.
func (a *ages) want(when string, stale ...ids.Group) {
	a.Helper()
	var want, got auction.Groups
	for _, g := range stale {
		want.Add(uint16(g))
	}
	if found := a.Stale(a.at, &got); got != want || found != (len(stale) > 0) {
		a.Errorf("%s: %t %v, want %v", when, found, got, stale)
	}
}

// tick records a tick of a leader whose time is behind the local clock.
func (a *ages) tick(g ids.Group, behind time.Duration) { a.record(g, a.at.Add(-behind).UnixMilli()) }

func TestAGroupIsStaleBeforeItsFirstTickAndAgainAfterTheLimit(t *testing.T) {
	a := newAges(t, 2)
	a.want("at the start", 1, 2)
	a.tick(1, 0)
	a.want("group 1 ticked", 2)
	a.tick(2, 0)
	a.want("both ticked")
	a.at = a.at.Add(limit - time.Millisecond)
	a.want("just before the limit")
	a.tick(2, 0)
	a.at = a.at.Add(time.Millisecond)
	a.want("group 1 has no tick", 1)
	if got := a.Age(1); got.Staleness != limit || got.Fenced != 2 {
		t.Errorf("age %+v", got)
	}
	a.tick(1, 0)
	a.want("it has a tick again")
}

// A node that applies old entries receives ticks all the time, and is behind all the same.
func TestATickIsAsOldAsItsLeaderSays(t *testing.T) {
	a := newAges(t, 1)
	a.tick(1, 2*time.Second)
	a.want("two seconds behind")
	a.at = a.at.Add(time.Second)
	a.want("the third passed", 1)
	a.tick(1, time.Minute)
	a.want("a minute behind", 1)
	a.tick(1, -time.Minute)
	a.want("the leader's clock is ahead")
	a.at = a.at.Add(limit)
	a.want("which does not make the copy younger", 1)
}

func TestALoneVoterIsNeverStale(t *testing.T) {
	a := newAges(t, 1)
	a.setSoleVoter(1, true)
	a.at = a.at.Add(time.Hour)
	a.want("alone")
	if !a.Fresh() || a.Age(1).Staleness != 0 {
		t.Error("a lone voter is not fresh")
	}
	a.setSoleVoter(1, false)
	a.want("with a second voter", 1)
}

// The meta group has no campaigns: when it is stale, the node is not fresh, but auctions have winners.
func TestTheMetaGroupFencesNoAuction(t *testing.T) {
	a := newAges(t, 2)
	a.tick(1, 0)
	a.tick(2, 0)
	a.want("only the meta group has no tick")
	if a.Fresh() {
		t.Error("fresh without the meta group")
	}
	a.tick(0, 0)
	if !a.Fresh() {
		t.Error("not fresh")
	}
}

// machine is a state machine that does nothing.
type machine struct{ raftstore.StateMachine }

func (machine) Load(raftstore.Reader) error          { return nil }
func (machine) Apply(raftstore.Batch, []byte) []byte { return nil }
func (machine) EndBatch() bool                       { return false }
func (machine) Committed()                           {}

func TestTicksCountWhenTheyAreVisible(t *testing.T) {
	a := newAges(t, 1)
	m := a.Machine(1, machine{})
	now := a.at.UnixMilli()
	m.Apply(nil, command.AppendNoop(nil, now)) // It carries the time of any node.
	m.Committed()
	a.want("only ticks count", 1)
	m.Apply(nil, command.AppendAdvance(nil, now, &command.Advance{}))
	a.want("not visible yet", 1)
	m.Committed()
	a.want("visible")
	if err := m.Load(nil); err != nil {
		t.Fatal(err)
	}
	a.want("the age of a snapshot is unknown", 1)
	torn := command.AppendAdvance(nil, now, &command.Advance{})
	torn[8]++
	m.Apply(nil, torn)
	m.Committed()
	a.want("a tick that the machine cannot read", 1)
}

// The check of every auction allocates nothing, whatever its result.
func TestStaleDoesNotAllocate(t *testing.T) {
	a := newAges(t, 4)
	var set auction.Groups
	if n := testing.AllocsPerRun(100, func() { a.Stale(a.at, &set) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkStale(b *testing.B) {
	f := NewReplicaAges(ids.Topology{DataGroups: 8}, limit, time.Now)
	for _, g := range (ids.Topology{DataGroups: 8}).Groups() {
		f.record(g, time.Now().Add(time.Hour).UnixMilli())
		f.setSoleVoter(g, true)
	}
	now := time.Now()
	var set auction.Groups
	for b.Loop() {
		if f.Stale(now, &set) {
			b.Fatal("stale")
		}
	}
}
