package simulation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

const (
	// episode is how long the faults of one cluster go on. Clusters are young, because most of what can go wrong does so
	// within few events, and because nothing in them is forgotten: the history is compared with all replicas at the end.
	episode = 10 * time.Minute
	// minutesDefault are simulated by go test, minutesShort by go test -short; make sim HOURS=n simulates more.
	minutesDefault = 300
	minutesShort   = 20
	seedDefault    = 1
)

func env(name string, fallback int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return fallback
}

// TestSimulation lets clusters of three and five nodes live through faults, with clients at all nodes, and holds the
// books of every replica against what the clients tried and were told. DESIGN.md says what is real and what is checked.
// The seed decides faults, delays, clients and lost blocks; goroutines of one moment run in any order, so a failure comes
// back with its seed often, not always.
//
// Every cluster lives in a process of its own, which ends with it: the threads of a node that ended itself, because its
// disk failed, cannot be ended in any other way.
func TestSimulation(t *testing.T) {
	if text, child := os.LookupEnv("GAVEL_SIM_CLUSTER"); child {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		live(t, seed)
		return
	}
	otherwise := minutesDefault
	if testing.Short() {
		otherwise = minutesShort
	}
	minutes, seed := env("GAVEL_SIM_MINUTES", otherwise), env("GAVEL_SIM_SEED", seedDefault)
	began, sum, failed := time.Now(), newFigures(), 0
	var mu sync.Mutex
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for n := range max(1, minutes/int(episode/time.Minute)) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			f, text, err := inProcess(t.Context(), seed+n)
			mu.Lock()
			defer mu.Unlock()
			sum.add(f)
			if err == nil {
				return
			}
			failed++
			t.Errorf("seed %d: %v\n%sagain: GAVEL_SIM_MINUTES=%d GAVEL_SIM_SEED=%d go test -count=1 -v -run 'TestSimulation$' ./node/simulation",
				seed+n, err, text, int(episode/time.Minute), seed+n)
		})
		if mu.Lock(); failed >= failuresMax {
			mu.Unlock()
			break
		}
		mu.Unlock()
	}
	all.Wait()
	wall := time.Since(began)
	t.Logf("seeds from %d, %s of wall time, %.0f times as fast\n%s", seed, wall.Round(time.Second), sum.Seconds/wall.Seconds(), sum)
}

// failuresMax ends a long run that fails.
const failuresMax = 3

// standstill is how long a cluster may take: when a goroutine waits for a lock whose holder sleeps, simulated time stands
// still, and the process tells where all its threads are. A second is usual, a busy machine takes a minute.
const standstill = 4 * time.Minute

// inProcess lets one cluster live in a process and returns its figures, and what it complained about.
func inProcess(ctx context.Context, seed int) (f *figures, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, standstill)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSimulation$", "-test.timeout=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), fmt.Sprint("GAVEL_SIM_CLUSTER=", seed), "GOMAXPROCS=1", "GOGC=400")
	out, err := cmd.CombinedOutput()
	f = newFigures()
	var rest strings.Builder
	for line := range strings.Lines(string(out)) {
		if told, found := strings.CutPrefix(line, "figures "); found {
			if err := json.Unmarshal([]byte(told), f); err != nil {
				return f, line, err
			}
			continue
		}
		rest.WriteString(line)
	}
	if err == nil && f.Clusters == 0 {
		err = errors.New("the process told no figures")
	}
	return f, rest.String(), err
}

// live is one cluster from its founding to its end, which is that of the process.
func live(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := newWorld(&complaints{TB: t}, seed, founders(seed))
		w.found()
		w.others.Go(w.sample)
		var clients sync.WaitGroup
		for _, h := range w.groups {
			w.admitClients(h, &clients)
		}
		clients.Go(w.desk(400).trade)
		for i := range uint64(carriers) {
			clients.Go(w.desk(500 + 10*i).carryAll)
		}
		w.trouble(episode)
		if w.settle(&clients) {
			w.check()
		}
		w.tell(time.Since(began))
		if w.t.failures.Load() > 0 {
			os.Exit(1)
		}
		os.Exit(0)
	})
}

// admitClients lets those in who deal with one data group.
func (w *world) admitClients(h *history, clients *sync.WaitGroup) {
	first := 1_000 * uint64(h.group)
	for i := range uint64(shoppers) {
		clients.Go(w.client(first+i, h).shop)
	}
	for i := range vendors {
		c := w.client(first+100+uint64(i), h) //nolint:gosec // not negative.
		clients.Go(func() { c.manage(i) })
	}
	for i := range uint64(readers) {
		clients.Go(w.client(first+200+i, h).watch)
	}
}

// founders is the size of a cluster: one in three has five nodes, which cost twice as much as three.
func founders(seed uint64) int {
	if seed%3 == 1 {
		return 5
	}
	return 3
}

// found starts the first nodes and gives them a marketplace.
func (w *world) found() {
	for i := range w.founded {
		w.start(i)
	}
	w.starts.Wait()
	w.exists = true
	_, cl, _ := w.open(0)
	bootstrap := command.AppendBootstrap(nil, w.now(0).UnixMilli(), &command.Bootstrap{
		Marketplace: market.Marketplace{Ordinal: marketplace, ID: ids.UUID{1}, Name: "m", CurrencyCode: "USD", TimeZone: "UTC"},
	})
	for cl != nil {
		if _, err := cl.Propose(context.Background(), w.topology.Meta(), bootstrap); err == nil {
			return
		}
	}
	w.t.Errorf("the cluster cannot be founded")
}

// settle ends the faults, and the clients when they have all their answers. False: the cluster does not come to rest.
func (w *world) settle(clients *sync.WaitGroup) bool {
	close(w.stop)
	answered := ended(clients)
	for range 12 {
		w.heal() // Also those that ended themselves meanwhile.
		if within(10*time.Second, answered) {
			break
		}
	}
	if !within(0, answered) {
		w.t.Errorf("clients wait for an answer two minutes after the last fault")
	}
	time.Sleep(10 * time.Second)
	w.heal()
	close(w.over)
	for _, x := range []struct {
		what string
		ends <-chan struct{}
	}{{"clients", answered}, {"nodes that start", ended(&w.starts)}, {"changes of members", ended(&w.others)}} {
		if !within(time.Minute, x.ends) {
			w.t.Errorf("%s do not come to an end", x.what)
			w.behind()
			return false
		}
	}
	for _, h := range w.groups {
		if len(h.tokens) < 100 || h.reads < 20 || len(w.bank.all) < 20 {
			w.t.Errorf("%d tokens, %d reads and %d transfers: the simulation tests nothing", len(h.tokens), h.reads, len(w.bank.all))
		}
	}
	return true
}

// ended is closed when all of a group have come to their end.
func ended(g *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		g.Wait()
		close(done)
	}()
	return done
}

// within reports whether something ends in time.
func within(d time.Duration, end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	case <-time.After(d):
	}
	select { // Both may be true.
	case <-end:
		return true
	default:
		return false
	}
}
