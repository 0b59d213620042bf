package raftstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest/certs"
)

// Three nodes found a cluster over TLS on real sockets, and every one takes commands. A node may
// not join with the certificate of another one.
func TestClusterOverTLS(t *testing.T) {
	t.Parallel() // It waits for seconds.
	authority := certs.New(t)
	seeds := []string{}
	listeners := map[string]net.Listener{}
	for i := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("n", i+1)
		listeners[id] = l
		seeds = append(seeds, l.Addr().String())
	}
	config := func(id, certificateOf string) raftstore.Config {
		certificate, key, ca := authority.Node(certificateOf, time.Hour)
		c := raftstore.Config{
			Dir: "node", FS: vfs.NewMem(), NodeID: id, Groups: []uint16{0, 1}, Seeds: seeds, Expect: 3, PeerListen: "127.0.0.1:0", Learner: true,
			TLS:     &raftstore.TLS{Certificate: certificate, Key: key, Authority: ca},
			Machine: func(uint16) raftstore.StateMachine { return raftstoretest.NewLedger() }, Noop: raftstoretest.LedgerNoop,
			Logger: slog.New(slog.DiscardHandler), RPCsInFlight: raftstoretest.RPCsInFlight,
		}
		if l := listeners[id]; l != nil {
			c.Listen = func(string) (net.Listener, error) { return l, nil }
		}
		return c
	}
	stores := make([]*raftstore.Store, 3)
	var all sync.WaitGroup
	for i := range seeds {
		id := fmt.Sprint("n", i+1)
		c := config(id, id)
		all.Go(func() {
			s, err := raftstore.OpenContext(t.Context(), c)
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for i, s := range stores {
		for _, group := range []uint16{0, 1} {
			if _, err := s.Group(group).Propose(t.Context(), raftstoretest.LedgerCommand(uint64(i))); err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := raftstore.OpenContext(ctx, config("n4", "n5")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("n4 with the certificate of n5: %v", err)
	}
	if members := stores[0].Group(0).Members(); len(members) != 3 {
		t.Errorf("a node with the certificate of another one became a member: %v", members)
	}
	removedIsCutOff(t, stores)
	for _, s := range slices.Backward(stores) {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// removedIsCutOff removes the third of three nodes: the connections it has to the others are closed and no new one is
// opened. The others learn of the removal one after the other, so a proposal on a connection that is still open may pass.
func removedIsCutOff(t *testing.T, stores []*raftstore.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	refused := func() uint64 { return stores[0].Stats().PeerRejectName + stores[1].Stats().PeerRejectName }
	before := refused()
	if err := stores[0].Remove(ctx, "n3"); err != nil {
		t.Fatal(err)
	}
	for {
		short, stop := context.WithTimeout(ctx, 2*time.Second)
		_, err := stores[2].Group(0).Propose(short, raftstoretest.LedgerCommand(99))
		stop()
		if err != nil {
			break
		}
	}
	for refused() == before {
		if ctx.Err() != nil {
			t.Fatal("nothing of the removed node was cut")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Fatal("a removed node proposes")
	}
	if _, err := stores[0].Group(0).Propose(ctx, raftstoretest.LedgerCommand(100)); err != nil {
		t.Errorf("the two others: %v", err)
	}
}
