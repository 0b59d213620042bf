package raftstore

import (
	"context"
	"errors"
	"strings"
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

// An outcome that is unknown when the store closes is an error with both reasons.
func TestUnknownAtTheEndOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lone(t)
		_, err := s.Group(1).retry(t.Context(), false, func(context.Context, string) ([]byte, string, error) {
			s.cancel()
			return nil, "", ErrUnknown
		})
		if !errors.Is(err, ErrUnknown) || strings.Contains(err.Error(), "%!") || !strings.Contains(err.Error(), "closes") {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// After an unknown outcome no error says that nothing was applied: the command is repeated until the caller's context
// ends.
func TestUnknownStaysUnknown(t *testing.T) {
	for _, first := range []bool{false, true} { // The unknown attempt is made by retry, or was made before it.
		for _, later := range []error{ErrTooLarge, ErrOverloaded, ErrNoSpace, ErrNotLeader, ErrClosed} {
			synctest.Test(t, func(t *testing.T) {
				s := lone(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				tries := 0
				_, err := s.Group(1).retry(ctx, first, func(context.Context, string) ([]byte, string, error) {
					if tries++; tries == 1 && !first {
						return nil, "", ErrUnknown
					}
					return nil, "", later
				})
				if !errors.Is(err, ErrUnknown) || errors.Is(err, later) || ctx.Err() == nil || tries < 10 {
					t.Errorf("%v after an unknown outcome: %v after %d tries", later, err, tries)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
