package raftstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// waitUntil waits for a condition, at most limit of the bubble's time.
func waitUntil(t *testing.T, limit time.Duration, what string, met func() bool) {
	t.Helper()
	for began := time.Now(); !met(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > limit {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// startEach starts some nodes side by side; up counts the nodes whose store opened.
func startEach(c *raftstoretest.Cluster, seeds []string, nodes ...int) {
	for _, i := range nodes {
		go c.Start(i, seeds)
	}
}

func up(c *raftstoretest.Cluster) (n int) {
	for i := range c.Nodes {
		if s, _ := c.Store(i); s != nil {
			n++
		}
	}
	return n
}

// memberIDs are the nodes of group 1 as node i sees them, voters with a star.
func memberIDs(c *raftstoretest.Cluster, i int) string {
	s, _ := c.Store(i)
	if s == nil {
		return "down"
	}
	all := []string{}
	for _, m := range s.Group(1).Members() {
		id := m.ID
		if m.Voter {
			id += "*"
		}
		all = append(all, id)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Five empty nodes with the same command line that expects three: the three lowest found a cluster, the others join and
// become voters. Each node needs the address of only one other.
func TestMoreNodesThanExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 11, 5)
		c.Configure = func(_ int, config *raftstore.Config) { config.Expect = 3 }
		startEach(c, c.Seeds(5)[4:], 0, 1, 2, 3, 4)
		waitUntil(t, time.Minute, "all are up", func() bool { return up(c) == 5 })
		defer func() { t.Log(memberIDs(c, 0)) }()
		waitUntil(t, time.Minute, "all vote", func() bool { return memberIDs(c, 0) == "n1* n2* n3* n4* n5*" })
		for i := range c.Nodes {
			if got := place(t, c, i, uint64(i)); got != uint64(i)+1 {
				t.Errorf("place %d", got)
			}
		}
		stopAll(c)
	})
}

// With fewer nodes than expected no cluster is founded, however long the nodes wait.
func TestFewerNodesThanExpectedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 12, 3)
		startEach(c, c.Seeds(3), 0, 2)
		time.Sleep(time.Hour)
		if up(c) != 0 {
			t.Fatalf("%d nodes are up", up(c))
		}
		startEach(c, c.Seeds(3), 1)
		waitUntil(t, 10*time.Second, "all are up", func() bool { return up(c) == 3 })
		place(t, c, 1, 1)
		stopAll(c)
	})
}

// However nodes crash while they found a cluster, with the loss of what they had not synced, exactly one cluster
// results: in the end all nodes are members of it, and what it acknowledged is there.
func TestCrashesWhileFounding(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := raftstoretest.NewCluster(t, seed, 3)
				startEach(c, c.Seeds(3), 0, 1, 2)
				for k := range 6 {
					node := int(seed+uint64(k)*7) % 3
					time.Sleep(time.Duration(1+(seed*13+uint64(k)*29)%600) * time.Millisecond)
					c.Crash(node)
					time.Sleep(time.Duration((seed*31+uint64(k)*17)%400) * time.Millisecond)
					startEach(c, c.Seeds(3), node)
				}
				waitUntil(t, time.Minute, "all are up", func() bool { return up(c) == 3 })
				waitUntil(t, time.Minute, "all vote", func() bool { return memberIDs(c, 0) == "n1* n2* n3*" })
				first, _ := c.Store(0)
				for i := range c.Nodes {
					s, _ := c.Store(i)
					if s.Cluster().ID != first.Cluster().ID {
						t.Errorf("node %d is of cluster %x, node 0 of %x", i, s.Cluster().ID, first.Cluster().ID)
					}
					place(t, c, i, uint64(i))
				}
				stopAll(c)
			})
		})
	}
}

// A node that lost its disk comes back by itself with the same command line, as another incarnation: first without a
// vote, then with one, and with everything that was acknowledged. Members lists show the same node as before.
func TestWipedNodeRejoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 13, 3)
		startAll(t, c, 3)
		for id := range uint64(50) {
			place(t, c, int(id)%3, id+1)
		}
		for round := range uint64(2) {
			wiped := 2 * int(round) // n1 was the founder.
			c.Crash(wiped)
			c.Nodes[wiped].Wipe()
			if !c.Start(wiped, c.Seeds(3)) {
				t.Fatal("the wiped node does not start")
			}
			waitUntil(t, time.Minute, "it is a member without a vote", func() bool {
				return slices.Contains(strings.Fields(memberIDs(c, 1)), c.Nodes[wiped].ID)
			})
			waitUntil(t, time.Minute, "it votes", func() bool { return memberIDs(c, 1) == "n1* n2* n3*" })
			if got := place(t, c, wiped, 100+round); got != 51+round {
				t.Errorf("place %d", got)
			}
			s, _ := c.Store(wiped)
			if err := s.Group(1).ReadBarrier(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := c.Ledger(wiped).Len(); n != 51+int(round) {
				t.Errorf("%d places", n)
			}
		}
		stopAll(c)
	})
}

// A second process with the node id of a running member is refused, with the reason.
func TestTwoProcessesWithOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 14, 3)
		startAll(t, c, 3)
		c.Add()
		c.Configure = func(i int, config *raftstore.Config) {
			if i == 3 {
				config.NodeID = "n2"
			}
		}
		_, err := raftstore.OpenContext(t.Context(), c.ConfigOf(3, c.Seeds(3)))
		if !errors.Is(err, raftstore.ErrNodeInUse) || !strings.Contains(fmt.Sprint(err), c.Nodes[1].Address) {
			t.Errorf("a second n2: %v", err)
		}
		if got := memberIDs(c, 0); got != "n1* n2* n3*" {
			t.Error(got)
		}
		stopAll(c)
	})
}

// A node that an operator removed stays away, with its directory and with an empty one, until it is admitted.
func TestRemovedStaysAwayUntilAdmitted(t *testing.T) {
	for _, wipe := range []bool{false, true} {
		t.Run(fmt.Sprint("wiped=", wipe), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := raftstoretest.NewCluster(t, 15, 4)
				c.Configure = func(_ int, config *raftstore.Config) {
					config.Expect = 4
					config.NodeInfo = func() []byte { return []byte("a version") }
					config.CheckJoin = func(_ raftstore.Reader, about []byte) error {
						if len(about) == 0 {
							return errors.New("it does not say which version it has")
						}
						return nil
					}
				}
				startEach(c, c.Seeds(4), 0, 1, 2, 3)
				waitUntil(t, time.Minute, "all are up", func() bool { return up(c) == 4 })
				place(t, c, 0, 1)
				victim := leader(c) // It transfers the leadership first.
				id := c.Nodes[victim].ID
				other := (victim + 1) % 4
				s, _ := c.Store(other)
				if err := s.Remove(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				c.Crash(victim)
				if wipe {
					c.Nodes[victim].Wipe()
				}
				startEach(c, c.Seeds(4), victim)
				time.Sleep(5 * time.Minute)
				if got := memberIDs(c, other); strings.Contains(got, id) {
					t.Fatalf("it came back: %s", got)
				}
				place(t, c, other, 2)
				if err := s.Admit(t.Context(), id, c.Nodes[victim].Address); err != nil {
					t.Fatal(err)
				}
				waitUntil(t, 2*time.Minute, "it votes again", func() bool { return memberIDs(c, other) == "n1* n2* n3* n4*" })
				waitUntil(t, time.Minute, "it is up", func() bool { return up(c) == 4 })
				place(t, c, victim, 3)
				stopAll(c)
			})
		})
	}
}

// A node that restarts at another address reports it to its leader, whether it was a follower or a leader.
func TestAddressChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 16, 3)
		startAll(t, c, 3)
		for round, node := range []int{(leader(c) + 1) % 3, leader(c)} {
			place(t, c, 0, uint64(round)+1)
			c.Stop(node)
			c.Nodes[node].Address = fmt.Sprintf("127.0.0.1:%d", 8400+round)
			if !c.Start(node, c.Seeds(3)) {
				t.Fatal("does not start")
			}
			other := (node + 1) % 3
			waitUntil(t, time.Minute, "the others know the address", func() bool {
				s, _ := c.Store(other)
				return slices.ContainsFunc(s.Group(1).Members(), func(m raftstore.Member) bool { return m.Address == c.Nodes[node].Address && m.Voter })
			})
			place(t, c, node, uint64(round)+10)
		}
		stopAll(c)
	})
}

// A draining node transfers its leaderships and leads again only for as long as no other node can, until it is
// restarted.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 17, 3)
		startAll(t, c, 3)
		drained := leader(c)
		s, _ := c.Store(drained)
		if err := s.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := (drained + 1) % 3
		place(t, c, other, 1)
		for range 3 {
			now := leader(c)
			store, _ := c.Store(now)
			if err := store.Transfer(t.Context(), 1, c.Nodes[drained].ID); err == nil {
				t.Error("it took a leadership")
			}
			c.Crash(now)
			place(t, c, drained, 2)
			waitUntil(t, 10*time.Second, "another one leads", func() bool { l := leader(c); return l >= 0 && l != drained })
			if !c.Start(now, c.Seeds(3)) {
				t.Fatal("does not start")
			}
		}
		c.Stop(drained)
		if !c.Start(drained, c.Seeds(3)) {
			t.Fatal("does not start")
		}
		waitUntil(t, time.Minute, "it leads when asked after a restart", func() bool {
			if leader(c) == drained {
				return true
			}
			store, _ := c.Store(other)
			_ = store.Transfer(t.Context(), 1, c.Nodes[drained].ID) // The loop tries again.
			return false
		})
		stopAll(c)
	})
}

// The leadership of group 1 goes to the second node by itself, but not at once, and not to a node that is down.
func TestLeadershipReturnsToThePreferredNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 18, 3)
		startAll(t, c, 3)
		s, _ := c.Store(leader(c))
		if leader(c) == 1 {
			if err := s.Transfer(t.Context(), 1, "n3"); err != nil {
				t.Fatal(err)
			}
		}
		waitUntil(t, 10*time.Second, "another one leads", func() bool { l := leader(c); return l == 0 || l == 2 })
		time.Sleep(50 * time.Second)
		if leader(c) == 1 {
			t.Error("handed over within the first minute")
		}
		c.Crash(1)
		time.Sleep(time.Minute)
		if leader(c) == 1 {
			t.Error("handed to a node that is down")
		}
		if !c.Start(1, c.Seeds(3)) {
			t.Fatal("does not start")
		}
		waitUntil(t, time.Minute, "n2 leads", func() bool { return leader(c) == 1 })
		stopAll(c)
	})
}

// Names are resolved at each attempt, to any number of addresses; addresses without a node do not matter.
func TestSeedsByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 19, 3)
		for i, n := range c.Nodes {
			n.Address = fmt.Sprintf("127.0.0.%d:7400", i+1)
		}
		began := time.Now()
		c.Configure = func(_ int, config *raftstore.Config) {
			config.Seeds, config.Expect = []string{"dns:gavel:7400", "127.0.0.9:7400"}, 3
			config.Resolve = func(_ context.Context, name string) ([]string, error) {
				if name != "gavel" || time.Since(began) < 20*time.Second {
					return nil, errors.New("no such host")
				}
				return []string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.8"}, nil
			}
		}
		startEach(c, nil, 0, 1, 2)
		time.Sleep(15 * time.Second)
		if up(c) != 0 {
			t.Error("founded without a reachable seed")
		}
		waitUntil(t, time.Minute, "all are up", func() bool { return up(c) == 3 })
		place(t, c, 0, 1)
		stopAll(c)
	})
}

// Members answer each other's NodeInfo, and report what they know of the cluster.
func TestNodeInfoAndStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 20, 3)
		c.Configure = func(i int, config *raftstore.Config) {
			config.NodeInfo = func() []byte { return fmt.Appendf(nil, "about %d", i) }
		}
		startAll(t, c, 3)
		s, _ := c.Store(leader(c))
		c.Crash((leader(c) + 1) % 3)
		time.Sleep(5 * time.Second)
		status := s.Cluster()
		reachable := 0
		for i, n := range status.Nodes {
			got, err := s.NodeInfo(t.Context(), n.ID)
			down, _ := c.Store(i)
			if n.Reachable {
				reachable++
			}
			if n.ID != c.Nodes[i].ID || !n.Voter || n.Reachable != (down != nil) {
				t.Errorf("%+v", n)
			}
			if down != nil && (string(got) != fmt.Sprint("about ", i) || err != nil) {
				t.Errorf("%s says %q, %v", n.ID, got, err)
			}
		}
		if reachable != 2 || status.Groups[0].Leader != status.Node {
			t.Errorf("%+v", status)
		}
		if _, err := s.NodeInfo(t.Context(), "n9"); err == nil {
			t.Error("the NodeInfo of a node that is not a member was answered")
		}
		stopAll(c)
	})
}

// Of seven nodes five vote, the other two follow: they have everything, take commands, and get a vote only when a group
// has fewer than five voters, whichever node asks for it.
func TestFiveOfSevenNodesVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 7
		c := raftstoretest.NewCluster(t, 23, nodes)
		c.Configure = func(_ int, config *raftstore.Config) { config.Expect = 3 }
		startEach(c, c.Seeds(nodes), 0, 1, 2, 3, 4, 5, 6)
		waitUntil(t, time.Minute, "all are up", func() bool { return up(c) == nodes })
		votersAndMembers := func(i int) string {
			ids := memberIDs(c, i)
			return fmt.Sprintf("%d of %d", strings.Count(ids, "*"), len(strings.Fields(ids)))
		}
		waitUntil(t, 2*time.Minute, "five vote", func() bool { return votersAndMembers(0) == "5 of 7" })
		for range 60 { // There is never a sixth voter, and no voter loses its vote.
			time.Sleep(time.Second)
			if got := votersAndMembers(0); got != "5 of 7" {
				t.Fatalf("%s vote", got)
			}
		}
		for i := range c.Nodes {
			if got := place(t, c, i, uint64(i)+1); got != uint64(i)+1 {
				t.Errorf("place %d through node %d", got, i)
			}
		}
		for i := range c.Nodes {
			s, _ := c.Store(i)
			if err := s.Group(1).ReadBarrier(t.Context()); err != nil || c.Ledger(i).Len() != nodes {
				t.Errorf("node %d has %d places, %v", i, c.Ledger(i).Len(), err)
			}
		}
		var voters, learners []int
		for i, n := range c.Nodes {
			if isVoter(c, 0, n.ID) {
				voters = append(voters, i)
			} else {
				learners = append(learners, i)
			}
		}
		at, _ := c.Store(learners[0])
		for _, i := range learners {
			wantRefusal(t, at.Promote(t.Context(), c.Nodes[i].ID), "all the voters it may have: 5")
		}
		gone := voters[len(voters)-1]
		if err := at.Remove(t.Context(), c.Nodes[gone].ID); err != nil {
			t.Fatal(err)
		}
		c.Crash(gone)
		waitUntil(t, time.Minute, "a learner votes in its place", func() bool { return votersAndMembers(learners[0]) == "5 of 6" })
		if got := place(t, c, learners[1], 100); got != nodes+1 {
			t.Errorf("place %d", got)
		}
		stopAll(c)
	})
}
