package raftstore_test

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gavel-ads/gavel/raftstore"
)

// Three nodes in one process on one disk, plain TCP on loopback; callers at the leader, or at a follower that forwards.
func BenchmarkClusterPropose(b *testing.B) {
	seeds, listeners := []string{}, []net.Listener{}
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		listeners = append(listeners, l)
		seeds = append(seeds, l.Addr().String())
	}
	stores := make([]*raftstore.Store, 3)
	var opening sync.WaitGroup
	for i, address := range seeds {
		dir := b.TempDir()
		opening.Go(func() {
			c := config(nil, 1)
			c.Dir, c.NodeID, c.Seeds, c.Expect, c.PeerListen, c.Insecure = dir, fmt.Sprint("n", i+1), seeds, 3, address, true
			c.Listen = func(string) (net.Listener, error) { return listeners[i], nil }
			s, err := raftstore.OpenContext(b.Context(), c)
			if err != nil {
				b.Error(err)
				return
			}
			stores[i] = s
		})
	}
	opening.Wait()
	if b.Failed() {
		b.FailNow()
	}
	at := map[bool]*raftstore.Group{}
	for _, s := range stores {
		if err := s.Group(1).WaitLeader(b.Context()); err != nil {
			b.Fatal(err)
		}
		at[s.Group(1).Ready()] = s.Group(1)
	}
	for _, callers := range []int{1, 16, 256, 1024} {
		for _, leads := range []bool{true, false} {
			b.Run(fmt.Sprintf("callers=%d,leader=%v", callers, leads), func(b *testing.B) {
				var left atomic.Int64
				left.Store(int64(b.N))
				var all sync.WaitGroup
				for caller := range callers {
					all.Go(func() {
						for n := left.Add(-1); n >= 0; n = left.Add(-1) {
							if _, err := at[leads].Propose(b.Context(), fmt.Appendf(nil, "%064d", caller)); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
			})
		}
	}
	for _, s := range stores {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}
