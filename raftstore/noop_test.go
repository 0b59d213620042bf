package raftstore_test

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// noopCounter counts the no-ops that its machine applies.
type noopCounter struct {
	raftstore.StateMachine
	noops *atomic.Int64
}

var countedNoop = []byte("no-op")

func (n noopCounter) Apply(b raftstore.Batch, cmd []byte) []byte {
	if bytes.Equal(cmd, countedNoop) {
		n.noops.Add(1)
		return nil
	}
	return n.StateMachine.Apply(b, cmd)
}

// An otherwise idle group takes a snapshot after each change of its members, on every node, and the last command that
// was applied then is one that changes nothing (hashicorp/raft#617). A voter is removed in two changes.
func TestIdleGroupTakesASnapshotAfterAChangeOfMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 31, 3)
		var noops [4]atomic.Int64
		c.Configure = func(i int, config *raftstore.Config) {
			machine := config.Machine
			config.Machine = func(group uint16) raftstore.StateMachine { return noopCounter{machine(group), &noops[i]} }
			config.Noop, config.Learner = countedNoop, i == 3
			config.CheckInterval = 24 * time.Hour // A state check is an entry too.
			config.SnapshotInterval, config.SnapshotThreshold = time.Second, 1
		}
		startAll(t, c, 3)
		place(t, c, 0, 1)
		c.Add()
		s, _ := c.Store(leader(c))
		lead := leader(c)
		victim := (lead + 1) % 3
		remove := func(i int) func() {
			return func() {
				c.Crash(i)
				if err := s.Remove(t.Context(), c.Nodes[i].ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, change := range []struct {
			what  string
			noops int64
			do    func()
			done  func() bool
		}{
			{"a learner joins", 1, func() { startEach(c, c.Seeds(3), 3) }, func() bool { return memberIDs(c, lead) == "n1* n2* n3* n4" }},
			{"a learner is removed", 1, remove(3), func() bool { return memberIDs(c, lead) == "n1* n2* n3*" }},
			{"a voter is removed", 2, remove(victim), func() bool { return len(strings.Fields(memberIDs(c, lead))) == 2 }},
		} {
			time.Sleep(10 * time.Second) // The snapshots of earlier entries are taken.
			var taken [3]uint64
			var counted [3]int64
			for i := range taken {
				node, _ := c.Store(i)
				taken[i], counted[i] = node.Group(1).Status().Snapshots, noops[i].Load()
			}
			change.do()
			waitUntil(t, time.Minute, change.what, change.done)
			time.Sleep(10 * time.Second)
			for i := range taken {
				node, _ := c.Store(i)
				if node == nil { // The node that was removed.
					continue
				}
				if got := node.Group(1).Status(); got.Snapshots == taken[i] {
					t.Errorf("%s: node %d took no snapshot up to entry %d", change.what, i, got.LastIndex)
				}
				if got := noops[i].Load() - counted[i]; got != change.noops {
					t.Errorf("%s: node %d applied %d no-ops, want %d", change.what, i, got, change.noops)
				}
			}
		}
		stopAll(c)
	})
}
