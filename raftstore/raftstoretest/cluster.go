package raftstoretest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
)

// Cluster is a cluster of real stores on crashable disks and a network in memory, for a synctest bubble. It has one
// group, 1.
type Cluster struct {
	t         testing.TB
	Net       *Network
	Configure func(node int, c *raftstore.Config) // May change the configuration of each start.
	Failed    func(node int, err error)           // Called when a node does not open its store; nil fails the test.
	Exits     atomic.Int64                        // Number of processes that ended themselves.

	rng     *rand.Rand
	closing sync.WaitGroup
	Nodes   []*Node
}

// Node is one member, over all the processes it runs as.
type Node struct {
	ID      string
	Address string
	disk    *vfs.MemFS

	mu         sync.Mutex
	generation int // Grows with every start and every end of a process.
	alive      bool
	store      *raftstore.Store
	ledger     *Ledger
	host       *Host
	cancel     context.CancelFunc // Ends Open.
	stopped    chan struct{}      // Closed when the process was killed or ended itself.
}

// NewCluster returns a cluster whose nodes are not started.
func NewCluster(t testing.TB, seed uint64, nodes int) *Cluster {
	c := &Cluster{t: t, Net: NewNetwork(seed), rng: rand.New(rand.NewPCG(seed, 2))}
	for range nodes {
		c.Add()
	}
	return c
}

// Add adds a node with an empty disk, not started.
func (c *Cluster) Add() *Node {
	i := len(c.Nodes) + 1
	n := &Node{ID: fmt.Sprint("n", i), Address: fmt.Sprintf("127.0.0.1:%d", 7400+i), disk: vfs.NewCrashableMem()}
	c.Nodes = append(c.Nodes, n)
	return n
}

// Copy adds a node with the id of another one and a copy of its disk, at an address of its own, not started.
func (c *Cluster) Copy(i int) *Node {
	n, of := c.Add(), c.Nodes[i]
	of.mu.Lock()
	defer of.mu.Unlock()
	n.ID = of.ID
	n.disk = of.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: c.rng})
	return n
}

// Seeds returns the addresses of the first count nodes. Nodes that are started with them found a cluster of that many.
func (c *Cluster) Seeds(count int) (all []string) {
	for _, n := range c.Nodes[:count] {
		all = append(all, n.Address)
	}
	return all
}

// Start starts node i and returns when its store is open. It returns false when the node was killed meanwhile, or did
// not open its store.
func (c *Cluster) Start(i int, seeds []string) bool {
	n := c.Nodes[i]
	ctx, cancel := context.WithCancel(context.Background())
	config, generation := c.begin(i, seeds, cancel)
	store, err := raftstore.OpenContext(ctx, config)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.generation == generation && err == nil:
		n.store = store
		return true
	case err == nil: // Killed while it opened.
		c.closing.Go(func() { _ = store.Close() }) // Its disk is gone.
	case n.generation == generation:
		n.generation++
		n.alive = false
		n.host.Kill()
		if c.Failed == nil {
			c.t.Errorf("%s does not start: %v", n.ID, err)
			break
		}
		c.Failed(i, err)
	}
	return false
}

// ConfigOf starts node i on the network and returns the configuration to open its store with.
func (c *Cluster) ConfigOf(i int, seeds []string) raftstore.Config {
	config, _ := c.begin(i, seeds, func() {})
	return config
}

func (c *Cluster) begin(i int, seeds []string, cancel context.CancelFunc) (config raftstore.Config, generation int) {
	n := c.Nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.generation++
	n.cancel, n.stopped = cancel, make(chan struct{})
	generation, ledger := n.generation, NewLedger()
	var once sync.Once // Several goroutines may notice that the disk fails.
	n.host, n.ledger, n.alive = c.Net.Host(n.Address), ledger, true
	config = raftstore.Config{
		Dir: "node", FS: n.disk, NodeID: n.ID, Groups: []uint16{1}, Seeds: seeds, Expect: len(seeds), PeerListen: n.Address, Insecure: true,
		Machine: func(uint16) raftstore.StateMachine { return ledger },
		Listen:  n.host.Listen, Dial: n.host.Dial, Noop: LedgerNoop, Logger: slog.New(slog.DiscardHandler),
		CacheBytes: 1 << 20, RPCsInFlight: RPCsInFlight,
		Exit: func(int) {
			once.Do(func() {
				c.Exits.Add(1)
				go c.end(n, generation, (*Host).Kill)
			})
			runtime.Goexit()
		},
	}
	if c.Configure != nil {
		c.Configure(i, &config)
	}
	return config, generation
}

// Disk returns the node's present disk. What is written to it while the node runs looks to the node like corruption.
func (n *Node) Disk() vfs.FS {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.disk
}

// Wipe gives a stopped node an empty disk.
func (n *Node) Wipe() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disk = vfs.NewCrashableMem()
}

// Crash ends the process of node i. Its disk then has all, half or none of what was not synced.
func (c *Cluster) Crash(i int) { c.end(c.Nodes[i], 0, (*Host).Kill) }

// PowerOff is Crash of a whole machine: peers do not notice the end of their connections.
func (c *Cluster) PowerOff(i int) { c.end(c.Nodes[i], 0, (*Host).PowerOff) }

// end is Crash for one generation; 0 is any.
//
// INVARIANT: first the node's answers stop counting (generation, network), then the disk is copied. So whatever was
// answered or sent is on the copy if it was durable then.
func (c *Cluster) end(n *Node, generation int, disconnect func(*Host)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.alive || generation != 0 && generation != n.generation {
		return
	}
	n.generation++
	n.alive = false
	disconnect(n.host)
	n.disk = n.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: UnsyncedPercents[c.rng.IntN(3)], RNG: c.rng})
	n.cancel()
	close(n.stopped)
	if store := n.store; store != nil {
		n.store = nil
		c.closing.Go(func() { _ = store.Close() }) // Its disk is gone.
	}
}

// Stop closes node i in order. It also returns when the process was killed, or ended itself, in the middle of that.
func (c *Cluster) Stop(i int) {
	n := c.Nodes[i]
	n.mu.Lock()
	store, host, generation, stopped := n.store, n.host, n.generation, n.stopped
	n.store = nil
	n.mu.Unlock()
	closed := make(chan error, 1)
	c.closing.Go(func() { closed <- store.Close() })
	select {
	case err := <-closed:
		if err != nil {
			c.t.Errorf("%s: %v", n.ID, err)
		}
	case <-stopped:
		return
	}
	host.Kill()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.generation == generation { // Else it was killed, or is started again.
		n.generation++
		n.alive = false
	}
}

// Wait waits for the last goroutines of crashed processes.
func (c *Cluster) Wait() { c.closing.Wait() }

// Store returns the open store of node i, or nil, and the node's generation.
func (c *Cluster) Store(i int) (*raftstore.Store, int) {
	n := c.Nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.store, n.generation
}

// Ledger returns the state machine of node i.
func (c *Cluster) Ledger(i int) *Ledger {
	n := c.Nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ledger
}

// SameGeneration reports whether node i was neither started nor ended since the generation.
func (c *Cluster) SameGeneration(i, generation int) bool {
	_, now := c.Store(i)
	return now == generation
}
