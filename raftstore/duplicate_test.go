package raftstore_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// A second process on a copy of a member's directory is refused before it may vote, by the members and by a look at the
// address in the copy. With the first one's address it is refused too, when only members reach that address.
func TestSecondProcessOnACopyIsRefused(t *testing.T) {
	for name, configure := range map[string]func(c *raftstoretest.Cluster, second *raftstoretest.Node, config *raftstore.Config){
		"another address": func(*raftstoretest.Cluster, *raftstoretest.Node, *raftstore.Config) {},
		"the same address": func(c *raftstoretest.Cluster, _ *raftstoretest.Node, config *raftstore.Config) {
			config.Advertise = c.Nodes[1].Address
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := raftstoretest.NewCluster(t, 41, 3)
				startAll(t, c, 3)
				place(t, c, 0, 1)
				second := c.Copy(1)
				var failed error
				c.Failed = func(_ int, err error) { failed = err }
				c.Configure = func(i int, config *raftstore.Config) {
					if i == 3 {
						configure(c, second, config)
					}
				}
				terms := term(c, 0)
				if c.Start(3, c.Seeds(3)) {
					t.Fatal("a second process runs")
				}
				if !errors.Is(failed, raftstore.ErrNodeInUse) || !strings.Contains(failed.Error(), "n2 answers at "+c.Nodes[1].Address) {
					t.Errorf("refused with: %v", failed)
				}
				time.Sleep(time.Minute)
				if got := term(c, 0); got != terms {
					t.Errorf("a node campaigned: term %d became %d", terms, got)
				}
				place(t, c, 1, 2) // The first process goes on.
				if c.Exits.Load() != 0 {
					t.Error("a process ended itself")
				}
				c.Nodes = c.Nodes[:3]
				stopAll(c)
			})
		})
	}
}

// A second process of a node that was cut off from everybody cannot be told from that node at a new address. When the
// node is reachable again, one of the two processes ends itself.
func TestSecondProcessOfACutOffNodeEndsOneOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 42, 3)
		startAll(t, c, 3)
		place(t, c, 0, 1)
		cut := (leader(c) + 1) % 3
		c.Copy(cut)
		for i, n := range c.Nodes {
			if i != cut {
				c.Net.Cut(c.Nodes[cut].Address, n.Address, true)
				c.Net.Cut(n.Address, c.Nodes[cut].Address, true)
			}
		}
		if !c.Start(3, c.Seeds(3)) {
			t.Fatal("the node is not allowed to move")
		}
		waitUntil(t, time.Minute, "it is a member at its new address", func() bool {
			s, _ := c.Store(leader(c))
			for _, m := range s.Group(1).Members() {
				if m.Address == c.Nodes[3].Address {
					return m.Voter
				}
			}
			return false
		})
		c.Net.Heal()
		waitUntil(t, time.Minute, "the first one ends", func() bool { return c.Exits.Load() == 1 })
		if s, _ := c.Store(cut); s != nil {
			t.Error("it is not the one that was cut off")
		}
		place(t, c, 3, 2)
		c.Nodes[cut] = c.Nodes[3]
		c.Nodes = c.Nodes[:3]
		stopAll(c)
	})
}

func term(c *raftstoretest.Cluster, i int) uint64 {
	s, _ := c.Store(i)
	return s.Cluster().Groups[0].Term
}
