package membership

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore/control"
	"github.com/gavel-ads/gavel/raftstore/leadership"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest/single"
)

// noState is a state without removed nodes.
type noState struct{}

func (noState) IsRemoved(string) bool            { return false }
func (noState) CheckJoin([]byte) error           { return nil }
func (noState) AppendNoop(context.Context) error { return nil }

// lone returns the members of a node that leads group 1 alone, and a function that ends it.
func lone(t *testing.T) (*Members, func()) {
	t.Helper()
	notices := make(chan bool, 8)
	r := single.Leader(t, notices)
	address, _ := r.LeaderWithID()
	ctx, cancel := context.WithCancel(t.Context())
	logger := slog.New(slog.DiscardHandler)
	lead := leadership.New(leadership.Config{Self: "n1", Raft: r, Context: ctx, Logger: logger, Gained: func() {}})
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		lead.FollowNotices(notices)
	}()
	if err := lead.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	self := control.Peer{Node: "n1", Process: "1"}
	peers := NewPeers(Config{Node: "n1", Logger: logger}, self, string(address), control.New(control.Config{Self: self, Context: ctx}))
	m := NewMembers(ctx, peers, NewFounding(peers, func() {}), nil)
	m.SetIdentity(Identity{Cluster: ClusterText(1), Node: "n1", Server: "n1", Groups: []uint16{1}})
	m.Begin([]*Group{{ID: 1, Raft: r, Lead: lead, State: noState{}}})
	return m, func() {
		cancel()
		if err := r.Shutdown().Error(); err != nil {
			t.Error(err)
		}
		close(notices)
		<-followed
	}
}

// A change of members that waits for another one ends with its caller's context.
func TestChangeWaitsNoLongerThanItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := lone(t)
		m.changeSlot <- struct{}{} // Another change is under way and does not end.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := m.Promote(ctx, "n1")
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrRefused) || took != time.Second {
			t.Errorf("%v after %s", err, took)
		}
		<-m.changeSlot
		if err := m.Promote(t.Context(), "n1"); err != nil {
			t.Error(err)
		}
		end()
	})
}

// What will not pass is ErrRefused; the same node may be asked again for anything else.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := lone(t)
		for what, err := range map[string]error{
			"a group that does not exist": m.Transfer(t.Context(), 7, "n1"),
			"a leader that is no voter":   m.Transfer(t.Context(), 1, "n2"),
			"a voter that is no member":   m.Promote(t.Context(), "n2"),
			"the only voter removed":      m.Remove(t.Context(), "n1"),
		} {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := m.Admit(t.Context(), "n2", ""); err != nil {
			t.Error(err)
		}
		end()
	})
}
