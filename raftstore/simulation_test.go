package raftstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

const (
	simClients = 4
	// simMinutes is how long go test simulates; go test -short simulates one episode. GAVEL_SIM_MINUTES overrides both,
	// and GAVEL_SIM_SEED sets the first seed.
	simMinutes = 15
	// simEpisode is how long one cluster runs in a simulation.
	simEpisode = 5 * time.Minute
)

func env(name string, fallback int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return fallback
}

// simulation is one cluster under faults, with its clients and the answers they got.
type simulation struct {
	t     *testing.T
	c     *raftstoretest.Cluster
	rng   *rand.Rand // Chooses the faults.
	nodes int
	stop  chan struct{}

	mu      sync.Mutex
	acked   map[uint64]uint64 // Id to place, as answered.
	unknown int
	faults  map[string]int
	slowest time.Duration // The longest time until a command was answered or given up.
}

// TestSimulation runs real stores, real Raft and the real log on disks that lose what was not synced, under crashes of
// one and of all nodes, cuts in one and both directions, slow networks, transfers of leadership and snapshots. In the
// end, with all nodes up, every acknowledged command has the place it was answered with on every replica, and the
// replicas have applied the same commands in the same order. The seed decides faults, delays and lost blocks;
// goroutines of one moment run in any order, so a failure comes back with its seed often, not always.
func TestSimulation(t *testing.T) {
	otherwise := simMinutes
	if testing.Short() {
		otherwise = int(simEpisode / time.Minute)
	}
	minutes, seed := env("GAVEL_SIM_MINUTES", otherwise), env("GAVEL_SIM_SEED", 1)
	faults, acked, unknown, exits := map[string]int{}, 0, 0, 0
	for n := range max(1, minutes/int(simEpisode/time.Minute)) {
		episode := uint64(seed + n)
		nodes := 3 + 2*(n%2)
		t.Run(fmt.Sprintf("seed=%d,nodes=%d", episode, nodes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &simulation{
					t: t, c: raftstoretest.NewCluster(t, episode, nodes), rng: rand.New(rand.NewPCG(episode, 3)), nodes: nodes,
					stop: make(chan struct{}), acked: map[uint64]uint64{}, faults: faults,
				}
				s.run()
				acked, unknown, exits = acked+len(s.acked), unknown+s.unknown, exits+int(s.c.Exits.Load())
				t.Logf("%d acknowledged, %d unknown, slowest %s", len(s.acked), s.unknown, s.slowest)
			})
		})
	}
	t.Logf("seeds from %d, %d minutes: %d acknowledged, %d unknown, %d ended themselves, faults %v", seed, minutes, acked, unknown, exits, faults)
}

func (s *simulation) run() {
	s.c.Configure = func(_ int, c *raftstore.Config) {
		c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 5*time.Second, 100, 60
	}
	startAll(s.t, s.c, s.nodes)
	var clients sync.WaitGroup
	for i := range simClients {
		clients.Go(func() { s.client(uint64(i)) })
	}
	for began := time.Now(); time.Since(began) < simEpisode; {
		s.fault()
	}
	s.c.Net.Heal()
	s.startDown()
	time.Sleep(15 * time.Second)
	close(s.stop)
	clients.Wait()
	s.startDown() // Nodes that ended themselves meanwhile.
	s.check()
	stopAll(s.c)
}

// client proposes ids, one after the other, through any node. It repeats an id until it knows its place.
func (s *simulation) client(number uint64) {
	rng := rand.New(rand.NewPCG(number, 4))
	for id := number << 32; ; id++ {
		began := time.Now()
		for place := uint64(0); place == 0; {
			select {
			case <-s.stop:
				return
			case <-time.After(time.Duration(rng.IntN(200)) * time.Millisecond):
			}
			place = s.propose(rng.IntN(s.nodes), id)
		}
		s.mu.Lock()
		s.slowest = max(s.slowest, time.Since(began))
		s.mu.Unlock()
	}
}

// propose returns the place of an id, or 0 when the outcome is unknown. An answer counts only if the process of its
// node still ran when it arrived.
func (s *simulation) propose(node int, id uint64) uint64 {
	store, generation := s.c.Store(node)
	if store == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	result, err := store.Group(1).Propose(ctx, raftstoretest.LedgerCommand(id))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || !s.c.SameGeneration(node, generation) {
		s.unknown++
		return 0
	}
	place := binary.BigEndian.Uint64(result)
	s.acked[id] = place
	return place
}

// fault injects one fault, or ends some, and waits.
func (s *simulation) fault() {
	node := s.rng.IntN(s.nodes)
	kind := []string{"crash", "crash", "crash all", "isolate", "isolate leader", "one-way cut", "slow", "transfer", "restart"}[s.rng.IntN(9)]
	s.faults[kind]++
	switch kind {
	case "crash":
		s.c.Crash(node)
	case "crash all":
		for i := range s.nodes {
			s.c.Crash(i)
		}
	case "isolate leader":
		if node = leader(s.c); node < 0 {
			break
		}
		fallthrough
	case "isolate":
		for i := range s.nodes {
			s.cut(i, node)
			s.cut(node, i)
		}
	case "one-way cut":
		for i := range s.nodes {
			if s.rng.IntN(2) == 0 {
				s.cut(node, i)
			}
		}
	case "slow":
		s.c.Net.Slow(time.Duration(s.rng.IntN(500)) * time.Millisecond)
	case "transfer":
		if from := leader(s.c); from >= 0 {
			store, _ := s.c.Store(from)
			store.Transfer(s.t.Context(), 1, s.c.Nodes[node].ID) // It may fail, and the node may be the leader itself.
		}
	case "restart":
		if store, _ := s.c.Store(node); store != nil {
			s.c.Stop(node)
		}
	}
	time.Sleep(time.Duration(s.rng.IntN(12_000)) * time.Millisecond)
	if s.rng.IntN(2) == 0 {
		s.c.Net.Heal()
		s.startDown()
		time.Sleep(time.Duration(s.rng.IntN(8_000)) * time.Millisecond)
	}
}

func (s *simulation) cut(from, to int) {
	s.c.Net.Cut(s.c.Nodes[from].Address, s.c.Nodes[to].Address, true)
}

func (s *simulation) startDown() {
	for i := range s.nodes {
		if store, _ := s.c.Store(i); store == nil {
			s.c.Start(i, s.c.Seeds(s.nodes))
		}
	}
}

// check compares replicas and answers, after all replicas have caught up.
func (s *simulation) check() {
	for i := range s.nodes {
		store, _ := s.c.Store(i)
		if store == nil {
			s.t.Fatalf("node %d is not up", i)
		}
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
		err := store.Group(1).ReadBarrier(ctx)
		cancel()
		if err != nil {
			s.t.Fatalf("node %d does not catch up: %v; %+v", i, err, store.Status())
		}
	}
	first := s.c.Ledger(0)
	for i := range s.nodes {
		l := s.c.Ledger(i)
		if l.Digest() != first.Digest() || l.Len() != first.Len() {
			s.t.Errorf("node %d has %d places, digest %x; node 0 has %d, %x", i, l.Len(), l.Digest(), first.Len(), first.Digest())
		}
		for id, place := range s.acked {
			if got := l.Place(id); got != place {
				s.t.Errorf("node %d: id %x has place %d, acknowledged was %d", i, id, got, place)
			}
		}
	}
	if len(s.acked) < 100 {
		s.t.Errorf("only %d commands were acknowledged: the simulation tests nothing", len(s.acked))
	}
}
