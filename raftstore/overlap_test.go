package raftstore_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// slowMachine is Counters that applies a command when the test lets it.
type slowMachine struct {
	*raftstoretest.Counters
	gate chan struct{}
}

func (s *slowMachine) Apply(b raftstore.Batch, cmd []byte) []byte {
	<-s.gate
	return s.Counters.Apply(b, cmd)
}

// While the commands of one entry are applied, the log stores those that came meanwhile, in one more entry.
func TestLogStoresWhileCommandsAreApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := &slowMachine{Counters: raftstoretest.NewCounters(), gate: make(chan struct{})}
		c := config(vfs.NewMem(), 1)
		c.Machine = func(uint16) raftstore.StateMachine { return machine }
		s := open(t, c)
		g := s.Group(1)
		before := s.Status()[0].LastIndex
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() { propose(t, g, "a") })
			synctest.Wait()
		}
		if got := s.Status()[0]; got.LastIndex != before+2 || got.Outstanding != 2 {
			t.Errorf("%d entries are in the log and %d on their way, before the first is applied", got.LastIndex-before, got.Outstanding)
		}
		close(machine.gate)
		callers.Wait()
		if n := read(t, g, "a"); n != 2 {
			t.Errorf("%d of 2 are applied", n)
		}
		closeStore(t, s)
	})
}
