package raftstore_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// tooNew is a machine whose state was written by a newer one.
type tooNew struct{ *raftstoretest.Counters }

type newerError struct{}

func (newerError) Error() string    { return "a newer version wrote the state" }
func (newerError) NewerState() bool { return true }

func (tooNew) Load(raftstore.Reader) error { return newerError{} }

// A state that is in order and too new keeps an old binary from starting, and is unchanged when the right one starts.
func TestNewerStateIsRefusedAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := written(t, false)
		old := config(fs, 1)
		old.Machine = func(uint16) raftstore.StateMachine { return tooNew{raftstoretest.NewCounters()} }
		for range 2 {
			if _, err := raftstore.Open(old); !errors.Is(err, newerError{}) {
				t.Fatalf("opened by an older machine: %v", err)
			}
		}
		s := open(t, config(fs, 1))
		if n := read(t, s.Group(1), "a"); n != commandsBefore || s.Status()[0].Commands != 0 {
			t.Errorf("%d commands in the state, %d applied again", n, s.Status()[0].Commands)
		}
		closeStore(t, s)
	})
}
