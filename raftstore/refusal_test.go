package raftstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// What the cluster will never do is refused with ErrRefused and its reason, at whatever node it is asked; an error that
// may pass is not ErrRefused.
func TestFinalRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 61, 3)
		startAll(t, c, 3)
		place(t, c, 0, 1)
		ctx := t.Context()
		for i := range c.Nodes {
			s, _ := c.Store(i)
			for want, err := range map[string]error{
				"there is no group 7": s.Transfer(ctx, 7, "n1"),
				"n9 is no voter":      s.Transfer(ctx, 1, "n9"),
				"n9 is no member":     s.Promote(ctx, "n9"),
				"127.0.0.1:7402 is the address of n2, not of n8": s.Admit(ctx, "n8", c.Nodes[1].Address),
			} {
				wantRefusal(t, err, want)
			}
			if err := s.Transfer(ctx, 1, c.Nodes[leader(c)].ID); err != nil {
				t.Errorf("who leads takes over: %v", err)
			}
		}
		lead := leader(c)
		for i := range c.Nodes { // No node leads: that may pass.
			if i != lead {
				c.Crash(i)
			}
		}
		time.Sleep(5 * time.Second)
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		s, _ := c.Store(lead)
		if err := s.Promote(short, "n9"); err == nil || errors.Is(err, raftstore.ErrRefused) {
			t.Errorf("without a leader: %v", err)
		}
		stopAll(c)
	})
}

func wantRefusal(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, raftstore.ErrRefused) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want a refusal with %q", err, want)
	}
}

// Drain ends with its context, also while the nodes that should become leaders do not answer.
func TestDrainEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 62, 3)
		startAll(t, c, 3)
		place(t, c, 0, 1)
		lead := leader(c)
		for i, n := range c.Nodes {
			if i != lead {
				c.Net.Cut(c.Nodes[lead].Address, n.Address, true)
			}
		}
		s, _ := c.Store(lead)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := s.Drain(ctx); err == nil || time.Since(began) > 110*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		c.Net.Heal()
		stopAll(c)
	})
}
