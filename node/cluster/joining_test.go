package cluster_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// A node that received the state by a snapshot answers like the node that sent it: it has what was reported, charged,
// transferred and attempted. The generator often repeats commands, so whatever a snapshot leaves out shows in the
// answers.
func TestAJoiningNodeAnswersLikeTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 1, 2)
		c.Configure = func(i int, config *raftstore.Config) {
			config.Machine = func(uint16) raftstore.StateMachine { return shard.New(group, true, shardtest.NewFeed()) }
			config.Noop = command.AppendNoop(nil, 0)
			config.Expect = 1 - i
			config.JoinSettle = time.Second
			config.SnapshotInterval, config.SnapshotThreshold, config.TrailingLogs = time.Second, 10, 1
		}
		rng := rand.New(rand.NewPCG(1, 2))
		g := shardtest.NewGenerator(func(n int, _ string) int { return rng.IntN(n) })
		const steps = 2_000
		propose := func(node int, step shardtest.Step) bool {
			store, _ := c.Store(node)
			if store == nil {
				t.Errorf("node %d has ended", node)
				return false
			}
			answer, err := store.Group(group).Propose(t.Context(), step.Command)
			if err == nil {
				err = step.Check(answer)
			}
			if err != nil {
				t.Errorf("node %d: %v", node, err)
			}
			return err == nil
		}
		run := func() {
			if !c.Start(0, c.Seeds(1)) {
				t.Error("the first node does not start")
				return
			}
			time.Sleep(10 * time.Second)
			if !propose(0, g.Newest()) {
				return
			}
			for range steps {
				if !propose(0, g.MoneyStep()) {
					return
				}
			}
			time.Sleep(time.Minute) // A snapshot replaces the beginning of its log meanwhile.
			if !c.Start(1, c.Seeds(1)) {
				t.Error("the joining node does not start")
				return
			}
			time.Sleep(time.Minute)
			store, _ := c.Store(0)
			if err := store.Transfer(t.Context(), group, c.Nodes[1].ID); err != nil {
				t.Error(err)
				return
			}
			for range steps {
				if !propose(1, g.MoneyStep()) {
					return
				}
			}
		}
		run() // It does not call Fatal, because a bubble ends only after its nodes.
		for i := range c.Nodes {
			if store, _ := c.Store(i); store != nil {
				c.Stop(i)
			}
		}
		c.Wait()
	})
}
