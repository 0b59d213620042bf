package cluster_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// smallDisks are three nodes on disks of 256 MiB with a reserve of 64 MiB, each with its clock and its replica ages.
type smallDisks struct {
	*raftstoretest.Cluster
	topology ids.Topology
	disks    [3]*raftstoretest.SmallDisk
	fresh    [3]*cluster.ReplicaAges
	clusters [3]*cluster.Cluster
}

func newSmallDisks(t *testing.T) *smallDisks {
	d := &smallDisks{Cluster: raftstoretest.NewCluster(t, 1, 3), topology: ids.Topology{DataGroups: 1}}
	d.Configure = func(i int, config *raftstore.Config) {
		fresh := cluster.NewReplicaAges(d.topology, 3*time.Second, time.Now)
		config.Machine = func(g uint16) raftstore.StateMachine {
			return fresh.Machine(ids.Group(g), shard.New(ids.Group(g), true, shardtest.NewFeed()))
		}
		disk := raftstoretest.NewSmallDisk(config.FS, "node", 256<<20)
		if old := d.disks[i]; old != nil {
			disk.Fill(old.Other())
		}
		d.fresh[i], d.disks[i] = fresh, disk
		config.FS, config.Reserve, config.Ballast, config.Noop = disk, 64<<20, 8<<20, command.AppendNoop(nil, 0)
		config.Groups = nil
		for _, g := range d.topology.Groups() {
			config.Groups = append(config.Groups, uint16(g))
		}
	}
	all := make(chan bool)
	for i := range 3 {
		go func() { all <- d.Start(i, d.Seeds(3)) }()
	}
	for range 3 {
		if !<-all {
			t.Fatal("a node does not start")
		}
	}
	for i := range 3 {
		d.run(i)
	}
	return d
}

// run starts the clock of a node.
func (d *smallDisks) run(i int) {
	store, _ := d.Store(i)
	d.clusters[i] = cluster.New(store, cluster.Options{
		Topology: d.topology, Node: d.Nodes[i].ID, ReplicaAges: d.fresh[i], Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Periods: func(time.Time) []command.Periods { return nil },
	})
	d.clusters[i].Start(context.Background())
}

func (d *smallDisks) end(i int) {
	d.clusters[i].Close()
	d.Stop(i)
}

func (d *smallDisks) fill(free int64) {
	for _, disk := range d.disks {
		disk.FillUpTo(free)
	}
}

// When all nodes are below their reserve, auctions use fresh replicas, also on a node that starts then; changes and
// events are refused. When the disks are full, no replica is fresh any more. With space, everything works again.
func TestAllNodesBelowTheReserveStayFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSmallDisks(t)
		ready := func(what string, want bool) {
			t.Helper()
			for i := range 3 {
				var into auction.Groups
				stale := d.fresh[i].Stale(time.Now(), &into)
				_, lost := d.clusters[i].Leaderless()
				if stale == want || lost == want || d.fresh[i].Fresh() != want {
					t.Errorf("%s, node %d: stale %v, not ready %v, may serve %v", what, i, stale, lost, d.fresh[i].Fresh())
				}
			}
		}
		refused := func(what string) {
			t.Helper()
			for i := range 3 {
				_, err := d.clusters[i].Propose(t.Context(), 1, command.AppendNoop(nil, time.Now().UnixMilli()))
				if !errors.Is(err, raftstore.ErrNoSpace) {
					t.Errorf("%s, node %d: a change: %v", what, i, err)
				}
			}
		}
		time.Sleep(5 * time.Second)
		ready("with space", true)

		d.fill(60 << 20) // Slightly below the reserve.
		for range 10 {
			time.Sleep(3 * time.Second)
			ready("low", true)
		}
		refused("low")
		for i := range 3 { // One of them leads; the others wait until no other node is a candidate.
			d.end(i)
			if !d.Start(i, d.Seeds(3)) {
				t.Fatal("does not start")
			}
			d.run(i)
			time.Sleep(20 * time.Second)
			ready("restarted while all are low", true)
		}

		d.fill(4 << 20)
		time.Sleep(20 * time.Second)
		ready("full", false)
		refused("full")

		for _, disk := range d.disks {
			disk.Fill(0)
		}
		time.Sleep(20 * time.Second)
		ready("with space again", true)
		if _, err := d.clusters[0].Propose(t.Context(), 1, command.AppendNoop(nil, time.Now().UnixMilli())); err != nil {
			t.Errorf("with space again: a change: %v", err)
		}
		for i := range 3 {
			if d.disks[i].Failures() != 0 {
				t.Errorf("node %d: %d writes failed because of a full disk", i, d.disks[i].Failures())
			}
			d.end(i)
		}
		d.Wait()
	})
}
