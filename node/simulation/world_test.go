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
)

const (
	marketplace = 1
	spares      = 4 // Nodes that may join one day.
	staleness   = 3 * time.Second
)

// world is one simulated cluster: real stores, real machines, and everything that goes wrong with them.
type world struct {
	t       *complaints
	c       *raftstoretest.Cluster
	rng     *rand.Rand // Of the faults; only the goroutine that makes them uses it.
	founded int
	nodes   []*node
	groups  []*history // One for each data group.
	bank    *bank

	figuresMu sync.Mutex
	figures   *figures

	stop          chan struct{} // Ends the clients.
	over          chan struct{} // Ends everything.
	starts        sync.WaitGroup
	others        sync.WaitGroup // Samplers and changes of members.
	changing      atomic.Bool    // Members are being changed, or a disk was lost and its node is not back.
	exists        bool           // The cluster is founded; nobody founds another one.
	learner       int            // Never votes; -1: there is none.
	farJump       bool           // Clocks may be wrong by days.
	topology      ids.Topology   // With one data group, which is the meta group too, or with two.
	rightClocks   bool           // Clocks are never wrong.
	compareClocks bool           // A node whose clock is wrong does not lead. Elsewhere wrong clocks lead, and nothing may depend on it.
	midday        time.Duration  // What all clocks are ahead of the bubble's.
}

// node is one member over all its lives, with what lies around its store.
type node struct {
	offset atomic.Int64 // Of its clock, nanoseconds.
	disk   *badDisk
	words  words

	mu      sync.Mutex
	cluster *cluster.Cluster // Of the life that store belongs to.
	store   *raftstore.Store
	life    int
	feeds   map[uint16]*feed
	fresh   *cluster.Freshness
	busy    bool // It starts, or ends in an orderly way.
	joined  bool // Started at least once.
	retired bool // Removed.
	wiping  bool // Must not start.
}

// feed is the auctions' side of a machine; what is not the market's is not looked at here.
type feed struct {
	*market.Market
	mu    sync.Mutex
	slots map[ids.UUID]*market.Slot
}

func newFeed() *feed { return &feed{Market: market.New(1), slots: map[ids.UUID]*market.Slot{}} }

func (f *feed) PutRecord(command.RecordKind, uint16, string, []byte) {}
func (f *feed) PutSecrets(*command.Secrets)                          {}

func (f *feed) PutCampaign(c *market.Campaign) *market.Slot {
	slot := f.Market.PutCampaign(c)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots[c.ID] = slot
	return slot
}

func newWorld(t *complaints, seed uint64, founded int) *world {
	w := &world{
		t: t, c: raftstoretest.NewCluster(t, seed, founded+spares), rng: rand.New(rand.NewPCG(seed, 3)), founded: founded,
		bank: newBank(t), figures: newFigures(), stop: make(chan struct{}), over: make(chan struct{}),
		farJump: seed%4 == 0, rightClocks: seed%5 == 0, compareClocks: seed%2 == 0, topology: ids.Topology{DataGroups: 1}, learner: -1, midday: time.Duration(seed*7%24) * time.Hour,
	}
	if seed%3 == 0 {
		w.learner = founded
	}
	if seed%7 < 2 {
		w.topology.DataGroups = 2
	}
	for g := range w.topology.DataGroups {
		w.groups = append(w.groups, newHistory(t, w.topology, ids.Group(1+g), w.bank))
	}
	for range w.c.Nodes {
		w.nodes = append(w.nodes, &node{disk: newBadDisk(seed)})
	}
	w.c.Configure = w.configure
	w.c.Failed = func(int, error) { w.count("refused to start") } // After a fault of its disk; it is tried again.
	return w
}

// raftGroups are those of every node: the data groups, and the meta group if it is one of its own.
func (w *world) raftGroups() (all []uint16) {
	for _, g := range w.topology.Groups() {
		all = append(all, uint16(g))
	}
	return all
}

// configure replaces the toy machine of the cluster by the real one, and its disk by one that can be bad.
func (w *world) configure(i int, c *raftstore.Config) {
	n := w.nodes[i]
	feeds := map[uint16]*feed{}
	for _, g := range w.raftGroups() {
		feeds[g] = newFeed()
	}
	fresh := cluster.NewFreshness(w.topology, staleness, func() time.Time { return w.now(i) })
	n.mu.Lock()
	n.feeds, n.fresh = feeds, fresh
	n.mu.Unlock()
	c.Machine = func(g uint16) raftstore.StateMachine {
		return fresh.Machine(ids.Group(g), shard.New(ids.Group(g), ids.Group(g) == w.topology.Meta(), feeds[g]))
	}
	c.FS = n.disk.begin(c.FS)
	c.Groups = w.raftGroups()
	c.Logger = slog.New(speaker{words: &n.words})
	c.Noop = command.AppendNoop(nil, 0)
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 10*time.Second, 60, 30
	c.JoinSettle = 2 * time.Second
	c.Learner = i == w.learner
	if c.Expect = 0; !w.exists {
		c.Expect = w.founded
	}
	c.CommitTimeout = 250 * time.Millisecond
	if w.compareClocks {
		c.Now = func() time.Time { return w.now(i) }
	}
}

// now is the clock of a node, which may be wrong.
func (w *world) now(i int) time.Time {
	return time.Now().Add(w.midday + time.Duration(w.nodes[i].offset.Load()))
}

// start begins a life of node i in the background, unless it lives.
func (w *world) start(i int) {
	n := w.nodes[i]
	store, _ := w.c.Store(i)
	n.mu.Lock()
	defer n.mu.Unlock()
	if store != nil || n.busy || n.wiping {
		return
	}
	n.busy, n.joined = true, true
	w.starts.Go(func() {
		defer func() { // Also when the process ends itself, which ends this goroutine.
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

// seeds are where a node looks for the cluster: at the founders, and at all who are members by then, as an operator would tell a node
// that comes when no founder is left.
func (w *world) seeds() []string {
	seeds := w.c.Seeds(w.founded)
	for _, i := range w.members() {
		seeds = append(seeds, w.c.Nodes[i].Address)
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}

// attach puts the rooms above the store on it: the bridge that proposes and moves the clock.
func (w *world) attach(i int) {
	store, life := w.c.Store(i)
	if store == nil {
		return
	}
	n := w.nodes[i]
	n.mu.Lock()
	fresh := n.fresh
	n.mu.Unlock()
	cl := cluster.New(store, cluster.Options{
		Topology: w.topology, Node: w.c.Nodes[i].ID, Freshness: fresh, Now: func() time.Time { return w.now(i) }, Log: slog.New(slog.DiscardHandler),
		Periods: func(at time.Time) []command.Periods {
			return []command.Periods{cluster.PeriodsAt(marketplace, at, time.UTC)}
		},
		Levels: cluster.Levels{Reached: func(g ids.Group) (level command.Level, err error) {
			err = store.Group(uint16(g)).Read(func(r raftstore.Reader) error {
				level = shard.Books{R: r}.FeatureLevel()
				return nil
			})
			return level, err
		}},
	})
	cl.Start(context.Background())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cluster, n.store, n.life = cl, store, life
}

// detach takes the bridge of the last life away.
func (w *world) detach(i int) {
	n := w.nodes[i]
	n.mu.Lock()
	cl := n.cluster
	n.cluster, n.store = nil, nil
	n.mu.Unlock()
	if cl != nil {
		cl.Close()
	}
}

// open returns the store of a node and its bridge, nil when it does not live, and the life it is in.
func (w *world) open(i int) (*raftstore.Store, *cluster.Cluster, int) {
	n := w.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.store == nil || !w.c.Same(i, n.life) {
		return nil, nil, 0
	}
	return n.store, n.cluster, n.life
}

func (w *world) crash(i int) { w.c.Crash(i) }

// halt ends node i in an orderly way.
func (w *world) halt(i int) {
	n := w.nodes[i]
	store, _, _ := w.open(i)
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

// revive starts every member that is down.
func (w *world) revive() {
	for _, i := range w.members() {
		w.start(i)
	}
}

// members are the nodes that belong to the cluster.
func (w *world) members() (all []int) {
	for i, n := range w.nodes {
		n.mu.Lock()
		if n.joined && !n.retired {
			all = append(all, i)
		}
		n.mu.Unlock()
	}
	return all
}

// leader returns the node that leads a group, or -1.
func (w *world) leader(group uint16) int {
	for i := range w.nodes {
		if store, _, _ := w.open(i); store != nil && store.Group(group).Ready() {
			return i
		}
	}
	return -1
}
