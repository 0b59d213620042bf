package raftstore_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// heldMachine applies nothing while it is held.
type heldMachine struct {
	raftstore.StateMachine
	hold *atomic.Pointer[chan struct{}]
}

func (m heldMachine) Apply(b raftstore.Batch, cmd []byte) []byte {
	if held := m.hold.Load(); held != nil {
		<-*held
	}
	return m.StateMachine.Apply(b, cmd)
}

// The reader of the notices of leadership waits until the state machine has everything from before the term, and Raft
// waits for that reader when many notices are unread. So a node whose machine stands still, and that gains and loses
// its group more often than notices fit, may stop voting; but the others go on without it, and when the machine goes on
// the node follows, leads and takes commands.
func TestManyNoticesWhileTheirReaderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 61, 3)
		var hold atomic.Pointer[chan struct{}]
		c.Configure = func(i int, config *raftstore.Config) {
			machine := config.Machine
			if i == 0 {
				config.Machine = func(group uint16) raftstore.StateMachine { return heldMachine{machine(group), &hold} }
			}
		}
		startAll(t, c, 3)
		place(t, c, 1, 1)
		store := func(i int) *raftstore.Store {
			s, _ := c.Store(i)
			return s
		}
		claims := func() bool { return store(0).Group(1).Status().State == "Leader" }
		waitForOther := func() { waitUntil(t, time.Minute, "another node leads", func() bool { return leader(c) > 0 }) }
		away := func() {
			for i := 1; i < 3; i++ {
				c.Net.Cut(c.Nodes[0].Address, c.Nodes[i].Address, true)
				c.Net.Cut(c.Nodes[i].Address, c.Nodes[0].Address, true)
			}
			waitForOther()
			time.Sleep(2 * time.Second) // The node's lease ends.
			c.Net.Heal()
		}
		release := make(chan struct{})
		hold.Store(&release)
		led, wedged := 0, false
		for id := uint64(10); id < 22; id++ {
			away()
			place(t, c, 1+int(id)%2, id)
			time.Sleep(2 * time.Second) // The entry arrives at the held node.
			_ = store(leader(c)).Transfer(t.Context(), 1, "n1")
			if time.Sleep(time.Second); claims() && leader(c) <= 0 {
				led++
			} else {
				wedged = true
			}
		}
		t.Logf("led %d times in 12 rounds", led)
		if led < 4 || !wedged {
			t.Errorf("led %d times while nothing was applied, and every notice fitted (%v): the test tests nothing", led, !wedged)
		}
		away()
		hold.Store(nil)
		close(release)
		waitUntil(t, 3*time.Minute, "the node that was held leads and is ready", func() bool {
			if leader(c) > 0 {
				_ = store(leader(c)).Transfer(t.Context(), 1, "n1")
			}
			return leader(c) == 0
		})
		for i := range 3 {
			if got := place(t, c, i, 100+uint64(i)); got != 14+uint64(i) {
				t.Errorf("place %d through node %d, want %d", got, i, 14+i)
			}
		}
		somewhere := store(0).Cluster().Groups[0].Leader
		if somewhere != "n1" || !store(0).Group(1).Ready() || store(1).Group(1).Ready() || store(2).Group(1).Ready() {
			t.Errorf("%s leads; ready: %v %v %v", somewhere, store(0).Group(1).Ready(), store(1).Group(1).Ready(), store(2).Group(1).Ready())
		}
		stopAll(c)
	})
}
