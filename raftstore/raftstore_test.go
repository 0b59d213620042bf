package raftstore_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

func config(fs vfs.FS, groups ...uint16) raftstore.Config {
	return raftstore.Config{
		Dir: "node", FS: fs, NodeID: "n1", Groups: groups, Machine: raftstoretest.Factory, Expect: 1,
		RPCsInFlight: raftstoretest.RPCsInFlight,
	}
}

func open(t testing.TB, c raftstore.Config) *raftstore.Store {
	t.Helper()
	s, err := raftstore.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range c.Groups {
		if err := s.Group(g).WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func propose(t testing.TB, g *raftstore.Group, name string) uint64 {
	t.Helper()
	result, err := g.Propose(t.Context(), []byte(name))
	if err != nil {
		t.Fatalf("propose %q: %v", name, err)
	}
	return binary.BigEndian.Uint64(result)
}

func read(t testing.TB, g *raftstore.Group, name string) (n uint64) {
	t.Helper()
	err := g.Read(func(r raftstore.Reader) error {
		n = storedCount(r, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// storedCount returns a counter of the state, or 0.
func storedCount(r raftstore.Reader, name string) uint64 {
	if v, found := r.Get([]byte(name)); found {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

func closeStore(t testing.TB, s *raftstore.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// groupSets are the sets of groups that the tests of a node's starts and stops run with.
var groupSets = [][]uint16{{1}, {0, 1, 2, 3, 4}}

func TestProposedCommandsSurviveRestart(t *testing.T) {
	for _, groups := range groupSets {
		t.Run(fmt.Sprint(groups), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := vfs.NewMem()
				s := open(t, config(fs, groups...))
				for _, id := range groups {
					for i := range 10 {
						if n := propose(t, s.Group(id), "a"); n != uint64(i+1) {
							t.Fatalf("group %d: count %d, want %d", id, n, i+1)
						}
					}
					propose(t, s.Group(id), fmt.Sprint("only-", id))
				}
				before := s.Status()
				closeStore(t, s)

				s = open(t, config(fs, groups...))
				for i, id := range groups {
					if n := read(t, s.Group(id), "a"); n != 10 {
						t.Errorf("group %d: %d after restart, want 10", id, n)
					}
					if n := read(t, s.Group(id), fmt.Sprint("only-", id+1)); n != 0 {
						t.Errorf("group %d sees a neighbour's key", id)
					}
					if got := s.Status()[i]; got.Digest != before[i].Digest || got.Applied < before[i].Applied {
						t.Errorf("group %d: %+v after restart, %+v before", id, got, before[i])
					}
				}
				if got := s.Epoch(); got != 2 {
					t.Errorf("epoch %d at the second start", got)
				}
				closeStore(t, s)
			})
		})
	}
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, config(vfs.NewMem(), 1))
		g := s.Group(1)
		if _, err := g.Propose(t.Context(), make([]byte, raftstore.CommandBytesMax+1)); !errors.Is(err, raftstore.ErrTooLarge) {
			t.Errorf("too large: %v", err)
		}
		if n := propose(t, g, strings.Repeat("x", raftstore.CommandBytesMax)); n != 1 {
			t.Errorf("largest command: %d", n)
		}
		if result, err := g.Propose(t.Context(), []byte("!bad")); err != nil || result != nil {
			t.Errorf("a refused command is an answer: %q, %v", result, err)
		}
		closeStore(t, s)
		if _, err := g.Propose(t.Context(), []byte("a")); !errors.Is(err, raftstore.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
		if err := g.Read(func(raftstore.Reader) error { return nil }); !errors.Is(err, raftstore.ErrClosed) {
			t.Errorf("read after close: %v", err)
		}
	})
}

// On a real disk a store is ready soon after the start, also the second time, and serves many callers in parallel.
func TestRealDisk(t *testing.T) {
	c := config(nil, 0, 1, 2, 3, 4)
	c.Dir = t.TempDir()
	for start := range 3 {
		began := time.Now()
		s := open(t, c)
		t.Logf("start %d: ready after %s", start, time.Since(began))
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() { propose(t, s.Group(uint16(i%5)), fmt.Sprint("k", i)) })
		}
		all.Wait()
		if n := read(t, s.Group(2), "k2"); n != uint64(start+1) {
			t.Errorf("start %d: %d", start, n)
		}
		closeStore(t, s)
	}
}

// A node that is its only voter leads without waiting for a heartbeat that cannot come, and without a warning about it.
func TestStartsOfALoneNodeAreQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		c := config(vfs.NewMem(), 0, 1)
		c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo}))
		for range 2 {
			began := time.Now()
			s := open(t, c)
			if waited := time.Since(began); waited > 100*time.Millisecond {
				t.Errorf("ready after %s", waited)
			}
			closeStore(t, s)
		}
		if out.Len() > 0 {
			t.Errorf("logged: %s", out.String())
		}
	})
}
