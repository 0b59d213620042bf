package raftstore_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// The loss of one acknowledged entry that Raft itself cannot notice. Ten commands are on all of three nodes, an
// eleventh on two. The one of these two that stays loses it from its log without a trace, and runs with the third node,
// which never had it. Together they are a majority without the entry. With the tail guard the node does not start, so
// no node is elected that lacks what was acknowledged; without it (the loss accepted) the entry is gone for ever.
func TestGuardedFollowerDoesNotVote(t *testing.T) {
	for _, accept := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := raftstoretest.NewCluster(t, 51, 3)
			startAll(t, c, 3)
			for id := range uint64(10) {
				place(t, c, 0, id+1)
			}
			time.Sleep(time.Second)
			lead := leader(c)
			forgets, never := (lead+1)%3, (lead+2)%3
			for _, other := range []int{lead, forgets} {
				c.Net.Cut(c.Nodes[other].Address, c.Nodes[never].Address, true)
				c.Net.Cut(c.Nodes[never].Address, c.Nodes[other].Address, true)
			}
			if got := place(t, c, lead, 11); got != 11 {
				t.Fatal(got)
			}
			time.Sleep(time.Second) // Both know that the entry is committed, and their guards hold the exact end.
			for _, i := range []int{lead, forgets, never} {
				c.Stop(i)
			}
			c.Net.Heal()
			config := c.ConfigOf(forgets, c.Seeds(3))
			forgetCommand(t, config.FS)
			config.AcceptLoss = accept

			begun := make(chan bool)
			go func() { begun <- c.Start(never, c.Seeds(3)) }()
			s, err := raftstore.OpenContext(t.Context(), config)
			if !<-begun {
				t.Fatal("the third node does not start")
			}
			third, _ := c.Store(never)
			time.Sleep(time.Minute)
			switch {
			case !accept:
				if !errors.Is(err, raftstore.ErrDamaged) {
					t.Errorf("the node that forgot starts: %v", err)
				}
				if got := third.Group(1).Leader(); got != "" {
					t.Errorf("%s leads without an acknowledged command", got)
				}
				if !c.Start(lead, c.Seeds(3)) {
					t.Fatal("does not start")
				}
				if got := place(t, c, never, 12); got != 12 || c.Ledger(never).Place(11) != 11 {
					t.Errorf("place %d, the eleventh has %d", got, c.Ledger(never).Place(11))
				}
			case err != nil:
				t.Fatal(err)
			default:
				if err := third.Group(1).ReadBarrier(t.Context()); err != nil {
					t.Fatal(err)
				}
				if c.Ledger(never).Place(11) != 0 {
					t.Error("the eleventh is there: the test loses nothing")
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			stopAll(c)
		})
	}
}

// forgetCommand deletes the newest command, and the entries after it, from a closed node's log, and the state built
// from it.
func forgetCommand(t *testing.T, fs vfs.FS) {
	t.Helper()
	edit(t, fs, "node/raftlog", func(db *pebble.DB) {
		for last := lastIndex(t, db); ; last-- {
			entry, closer, err := db.Get(entryKey(last))
			if err != nil {
				t.Fatal(err)
			}
			command := raft.LogType(entry[9]) == raft.LogCommand && bytes.HasSuffix(entry, raftstoretest.LedgerCommand(11))
			closer.Close()
			db.Delete(entryKey(last), pebble.Sync)
			db.Set([]byte("\x03\x00\x01last"), number(last-1), pebble.Sync)
			if command {
				return
			}
		}
	})
	if err := fs.RemoveAll("node/state"); err != nil {
		t.Fatal(err)
	}
}
