package simulation_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

const (
	marketplace = 1
	spares      = 4 // Nodes that are not members at first and may join.
	staleness   = 3 * time.Second
)

// environment is one simulated cluster: real stores and state machines, and the faults that are injected into them.
type environment struct {
	t         *failureReporter
	c         *raftstoretest.Cluster
	rng       *rand.Rand // Only the goroutine that injects faults uses it.
	founded   int        // The number of nodes that bootstrap the cluster.
	nodes     []*node
	groups    []*history       // One for each data group.
	transfers *transferHistory // The history of money transfers.

	statisticsMu sync.Mutex
	statistics   *statistics

	stop          chan struct{}  // Closed to end the clients.
	finished      chan struct{}  // Closed to end all goroutines.
	starts        sync.WaitGroup // Nodes that start.
	others        sync.WaitGroup // The sampler, membership changes and other background goroutines.
	changing      atomic.Bool    // A membership change is in progress, or a disk was lost and its node has not rejoined.
	bootstrapped  bool           // The cluster is bootstrapped, so starting nodes must not bootstrap another one.
	learner       int            // The node that never votes; -1 if there is none.
	farJump       bool           // Clocks may be wrong by days.
	topology      ids.Topology   // One data group, which is the meta group too, or two data groups.
	rightClocks   bool           // Clocks are never wrong.
	compareClocks bool           // A node whose clock is wrong gives up leadership. Otherwise it may lead, and every check must still hold.
	clockOffset   time.Duration  // The offset of all clocks from the bubble's.
}

// node is one member over all runs of its process, with the parts around its store.
type node struct {
	offset atomic.Int64 // The error of its clock in nanoseconds.
	disk   *faultyDisk
	log    logRing // Its last log lines.

	mu      sync.Mutex
	cluster *cluster.Cluster // It belongs to the same run as store.
	store   *raftstore.Store
	run     int              // The number of the run that store belongs to.
	feeds   map[uint16]*feed // By group.
	fresh   *cluster.ReplicaAges
	busy    bool // The node starts, or stops in an orderly way.
	joined  bool // It was started at least once.
	removed bool // It was removed from the cluster.
	wiping  bool // Its disk is being taken away, so it must not start.
}

// feed is what a state machine publishes to auctions. It ignores everything but the market.
type feed struct {
	*market.Market
	mu    sync.Mutex
	slots map[ids.UUID]*market.Balances
}

func newFeed() *feed { return &feed{Market: market.New(1), slots: map[ids.UUID]*market.Balances{}} }

func (f *feed) PutRecord(command.RecordKind, uint16, string, []byte) {}
func (f *feed) PutSecrets(*command.Secrets)                          {}
func (f *feed) PutPeriods(ids.Group, *command.Periods)               {}
func (f *feed) PutCounted(ids.Group, *command.CountedReport)         {}

func (f *feed) PutCampaign(c *model.Campaign) *market.Balances {
	slot := f.Market.PutCampaign(c)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots[c.ID] = slot
	return slot
}

func newEnvironment(t *failureReporter, seed uint64, founded int) *environment {
	w := &environment{
		t: t, c: raftstoretest.NewCluster(t, seed, founded+spares), rng: rand.New(rand.NewPCG(seed, 3)), founded: founded,
		transfers: newTransferHistory(t), statistics: newStatistics(), stop: make(chan struct{}), finished: make(chan struct{}),
		farJump: seed%4 == 0, rightClocks: seed%5 == 0, compareClocks: seed%2 == 0, topology: ids.Topology{DataGroups: 1}, learner: -1, clockOffset: time.Duration(seed*7%24) * time.Hour,
	}
	if seed%3 == 0 {
		w.learner = founded
	}
	if seed%7 < 2 {
		w.topology.DataGroups = 2
	}
	for g := range w.topology.DataGroups {
		w.groups = append(w.groups, newHistory(t, w.topology, ids.Group(1+g), w.transfers))
	}
	for range w.c.Nodes {
		w.nodes = append(w.nodes, &node{disk: newFaultyDisk(seed)})
	}
	w.c.Configure = w.configure
	w.c.Failed = func(int, error) { w.count("refused to start") } // After a disk fault a start may fail; it is repeated.
	return w
}

// raftGroups returns the raft groups of every node: the data groups, and the meta group if it is a separate one.
func (w *environment) raftGroups() (all []uint16) {
	for _, g := range w.topology.Groups() {
		all = append(all, uint16(g))
	}
	return all
}

// configure replaces the test state machine of raftstoretest by the real one, and its disk by one that can fail.
func (w *environment) configure(i int, c *raftstore.Config) {
	n := w.nodes[i]
	feeds := map[uint16]*feed{}
	for _, g := range w.raftGroups() {
		feeds[g] = newFeed()
	}
	fresh := cluster.NewReplicaAges(w.topology, staleness, func() time.Time { return w.now(i) })
	n.mu.Lock()
	n.feeds, n.fresh = feeds, fresh
	n.mu.Unlock()
	c.Machine = func(g uint16) raftstore.StateMachine {
		return fresh.Machine(ids.Group(g), shard.New(ids.Group(g), ids.Group(g) == w.topology.Meta(), feeds[g]))
	}
	c.FS = n.disk.beginRun(c.FS)
	c.Groups = w.raftGroups()
	c.Logger = slog.New(logHandler{logRing: &n.log})
	c.Noop = command.AppendNoop(nil, 0)
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 10*time.Second, 60, 30
	c.JoinSettle = 2 * time.Second
	c.Learner = i == w.learner
	if c.Expect = 0; !w.bootstrapped {
		c.Expect = w.founded
	}
	c.CommitTimeout = 250 * time.Millisecond
	if w.compareClocks {
		c.Now = func() time.Time { return w.now(i) }
	}
}

// now returns the time of a node's clock, which may be wrong.
func (w *environment) now(i int) time.Time {
	return time.Now().Add(w.clockOffset + time.Duration(w.nodes[i].offset.Load()))
}

// start starts node i in the background, unless it runs.
func (w *environment) start(i int) {
	n := w.nodes[i]
	store, _ := w.c.Store(i)
	n.mu.Lock()
	defer n.mu.Unlock()
	if store != nil || n.busy || n.wiping {
		return
	}
	n.busy, n.joined = true, true
	w.starts.Go(func() {
		defer func() { // It also runs when the node stops itself, which ends this goroutine.
			n.mu.Lock()
			n.busy = false
			n.mu.Unlock()
		}()
		w.detach(i)
		if w.c.Start(i, w.seeds()) {
			w.attach(i)
		}
	})
}

// seeds returns the addresses at which a node looks for the cluster: those of the first nodes and of all current members, as
// an operator would configure a node that joins when none of the first nodes is left.
func (w *environment) seeds() []string {
	seeds := w.c.Seeds(w.founded)
	for _, i := range w.members() {
		seeds = append(seeds, w.c.Nodes[i].Address)
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}

// attach starts the cluster package on a node's store, which proposes commands and ticks.
func (w *environment) attach(i int) {
	store, run := w.c.Store(i)
	if store == nil {
		return
	}
	n := w.nodes[i]
	n.mu.Lock()
	fresh := n.fresh
	n.mu.Unlock()
	cl := cluster.New(store, cluster.Options{
		Topology: w.topology, Node: w.c.Nodes[i].ID, ReplicaAges: fresh, Now: func() time.Time { return w.now(i) }, Log: slog.New(slog.DiscardHandler),
		Periods: func(at time.Time) []command.Periods {
			return []command.Periods{cluster.PeriodsAt(marketplace, at, time.UTC)}
		},
		Levels: cluster.Levels{Reached: func(g ids.Group) (level command.Level, err error) {
			err = store.Group(uint16(g)).Read(func(r raftstore.Reader) error {
				level = shard.Queries{R: r}.FeatureLevel()
				return nil
			})
			return level, err
		}},
	})
	cl.Start(context.Background())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cluster, n.store, n.run = cl, store, run
}

// detach closes the cluster package of the node's last run.
func (w *environment) detach(i int) {
	n := w.nodes[i]
	n.mu.Lock()
	cl := n.cluster
	n.cluster, n.store = nil, nil
	n.mu.Unlock()
	if cl != nil {
		cl.Close()
	}
}

// running returns the store and the cluster of a node with the number of its run, or nil if it does not run.
func (w *environment) running(i int) (*raftstore.Store, *cluster.Cluster, int) {
	n := w.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.store == nil || !w.c.SameGeneration(i, n.run) {
		return nil, nil, 0
	}
	return n.store, n.cluster, n.run
}

func (w *environment) crash(i int) { w.c.Crash(i) }

// shutdown stops node i in an orderly way.
func (w *environment) shutdown(i int) {
	n := w.nodes[i]
	store, _, _ := w.running(i)
	n.mu.Lock()
	busy := n.busy
	n.busy = n.busy || store != nil
	n.mu.Unlock()
	if store == nil || busy {
		return
	}
	w.detach(i)
	w.c.Stop(i)
	n.mu.Lock()
	n.busy = false
	n.mu.Unlock()
}

// startMembers starts every member that does not run.
func (w *environment) startMembers() {
	for _, i := range w.members() {
		w.start(i)
	}
}

// members returns the nodes that belong to the cluster.
func (w *environment) members() (all []int) {
	for i, n := range w.nodes {
		n.mu.Lock()
		if n.joined && !n.removed {
			all = append(all, i)
		}
		n.mu.Unlock()
	}
	return all
}

// leader returns the node that leads a group, or -1.
func (w *environment) leader(group uint16) int {
	for i := range w.nodes {
		if store, _, _ := w.running(i); store != nil && store.Group(group).Ready() {
			return i
		}
	}
	return -1
}
