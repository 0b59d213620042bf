package main_test

import (
	"fmt"
	"maps"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// sameStateAfterReplay kills the node and replays its directory (openDirectory) twice, without ticks of a leader that
// would change the state. The first start rebuilds memory from the state database, which lags behind, and replays the
// log; the second finds what the first one left. Every group must have the same state both times, whatever was in
// memory and wherever the replay of the log began.
func (c *crash) sameStateAfterReplay() {
	c.t.Helper()
	again := c.history.everything() // A snapshot may just have made the whole state durable; these commands come after it.
	c.report("before the last kill", c.resend(again[:min(len(again), 100)]), nil)
	if err := c.kill(); err != nil {
		c.t.Fatal(err)
	}
	if c.power != nil {
		if err := c.power.restore(); err != nil {
			c.t.Fatal(err)
		}
	}
	first, replayed := c.replay(c)
	second, _ := c.replay(c)
	if replayed == 0 {
		c.t.Error("the state was whole when the node was killed: nothing was replayed")
	}
	if !maps.Equal(first, second) {
		c.t.Errorf("state digests by group were %v after the kill and are %v", first, second)
	}
}

// openDirectory replays the directory of the killed node without the node, and returns how many commands came from the
// log.
func (c *crash) openDirectory() (digests map[uint16]string, replayed uint64) {
	c.t.Helper()
	dir := c.node.Dir()
	groups, err := raftstore.FoundedGroups(vfs.Default, dir)
	if err != nil || len(groups) == 0 {
		c.t.Fatalf("groups %v: %v", groups, err)
	}
	meta := ids.Topology{DataGroups: max(1, len(groups)-1)}.Meta()
	store, err := raftstore.Open(raftstore.Config{
		Dir: dir, NodeID: "n1", Groups: groups, Expect: 1,
		Machine: func(g uint16) raftstore.StateMachine {
			return shard.New(ids.Group(g), ids.Group(g) == meta, shardtest.NewFeed())
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	digests = map[uint16]string{}
	for _, g := range groups {
		if err := store.Group(g).WaitReady(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
		s := store.Group(g).Status()
		digests[g] = fmt.Sprintf("%016x", s.Digest)
		replayed += s.Commands
	}
	if err := store.Close(); err != nil {
		c.t.Fatal(err)
	}
	return digests, replayed
}
