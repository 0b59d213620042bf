package raftstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lone opens a store without peers and waits until it leads its group.
func lone(t *testing.T) *Store {
	t.Helper()
	s, err := Open(Config{
		Dir: "node", FS: vfs.NewMem(), NodeID: "n1", Groups: []uint16{1}, Expect: 1,
		Machine: func(uint16) StateMachine { return &counting{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Group(1).WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// A change of members that waits for another one ends with its caller's context.
func TestChangeWaitsNoLongerThanItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lone(t)
		s.changeSlot <- struct{}{} // Another change is under way and does not end.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := s.Promote(ctx, "n1")
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrRefused) || took != time.Second {
			t.Errorf("%v after %s", err, took)
		}
		<-s.changeSlot
		if err := s.Promote(t.Context(), "n1"); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
