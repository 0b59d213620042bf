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
	"github.com/gavel-ads/gavel/shard/model"
)

const (
	// faultPeriod is how long faults are injected into one cluster. It is short, because most defects appear within few
	// events, and because the whole history of a cluster is kept and compared with all replicas at the end.
	faultPeriod = 10 * time.Minute
	// minutesDefault is how many minutes go test simulates, and minutesShort how many go test -short does; make sim HOURS=n
	// simulates more.
	minutesDefault = 120
	minutesShort   = 4 // Of one cluster.
	seedDefault    = 1
)

func env(name string, fallback int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return fallback
}

// TestSimulation runs clusters of three and five nodes under faults, with clients at all nodes, and compares the state of
// every replica with what the clients attempted and what was answered. DESIGN.md says what is real and what is checked.
// The seed decides on faults, delays, clients and lost blocks; goroutines that are ready at the same instant run in any
// order, so a failure recurs with its seed often and not always.
//
// Every cluster has its own process, which ends with it: the goroutines of a node that stopped itself because its disk failed
// cannot be ended in any other way.
func TestSimulation(t *testing.T) {
	if text, child := os.LookupEnv("GAVEL_SIM_CLUSTER"); child {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		runCluster(t, seed, faultTime(env("GAVEL_SIM_MINUTES", 0)))
		return
	}
	otherwise := minutesDefault
	if testing.Short() {
		otherwise = minutesShort
	}
	minutes, seed := env("GAVEL_SIM_MINUTES", otherwise), env("GAVEL_SIM_SEED", seedDefault)
	began, sum, failed := time.Now(), newStatistics(), 0
	var mu sync.Mutex
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for n := range max(1, minutes/int(faultPeriod/time.Minute)) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			f, text, err := runInProcess(t.Context(), seed+n, minutes)
			mu.Lock()
			defer mu.Unlock()
			sum.add(f)
			if err == nil {
				return
			}
			failed++
			t.Errorf("seed %d: %v\n%sagain: GAVEL_SIM_MINUTES=%d GAVEL_SIM_SEED=%d go test -count=1 -v -run 'TestSimulation$' ./node/simulation",
				seed+n, err, text, int(faultTime(minutes)/time.Minute), seed+n)
		})
		if mu.Lock(); failed >= failuresMax {
			mu.Unlock()
			break
		}
		mu.Unlock()
	}
	all.Wait()
	took := time.Since(began)
	t.Logf("seeds from %d, %s of real time, %.0f times as fast\n%s", seed, took.Round(time.Second), sum.Seconds/took.Seconds(), sum)
}

// faultTime is how long faults are injected into each cluster of a run of this many minutes.
func faultTime(minutes int) time.Duration {
	return min(faultPeriod, max(1, time.Duration(minutes))*time.Minute)
}

// failuresMax is the number of failed clusters after which a long run ends.
const failuresMax = 3

// clusterTimeout is how long a cluster may take in real time. When a goroutine waits for a mutex whose holder sleeps,
// simulated time stops; at the timeout the process then prints all its goroutines. A second is usual, a busy machine takes a
// minute.
const clusterTimeout = 4 * time.Minute

// runInProcess runs one cluster in a process. It returns the cluster's statistics and the failures that the process printed.
func runInProcess(ctx context.Context, seed, minutes int) (f *statistics, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSimulation$", "-test.timeout=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), fmt.Sprint("GAVEL_SIM_CLUSTER=", seed), fmt.Sprint("GAVEL_SIM_MINUTES=", minutes), "GOMAXPROCS=1", "GOGC=400")
	out, err := cmd.CombinedOutput()
	f = newStatistics()
	var rest strings.Builder
	for line := range strings.Lines(string(out)) {
		if encoded, found := strings.CutPrefix(line, "statistics "); found {
			if err := json.Unmarshal([]byte(encoded), f); err != nil {
				return f, line, err
			}
			continue
		}
		rest.WriteString(line)
	}
	if err == nil && f.Clusters == 0 {
		err = errors.New("the process printed no statistics")
	}
	return f, rest.String(), err
}

// runCluster runs one cluster from its bootstrap to its end, with faults for a time, and ends the process.
func runCluster(t *testing.T, seed uint64, faults time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := newEnvironment(&failureReporter{TB: t}, seed, founders(seed))
		w.bootstrap()
		w.others.Go(w.sample)
		var clients sync.WaitGroup
		for _, h := range w.groups {
			w.startClients(h, &clients)
		}
		clients.Go(w.transferClient(400).requestTransfers)
		for i := range uint64(completers) {
			clients.Go(w.transferClient(500 + 10*i).completeAll)
		}
		w.injectFaults(faults)
		if w.finish(&clients) {
			w.check()
		}
		w.printStatistics(time.Since(began))
		if w.t.failures.Load() > 0 {
			os.Exit(1)
		}
		os.Exit(0)
	})
}

// startClients starts the clients of one data group.
func (w *environment) startClients(h *history, clients *sync.WaitGroup) {
	first := 1_000 * uint64(h.group)
	for i := range uint64(eventClients) {
		clients.Go(w.client(first+i, h).reportEvents)
	}
	for i := range vendors {
		c := w.client(first+100+uint64(i), h) // Not negative.
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

// bootstrap starts the first nodes and creates a marketplace.
func (w *environment) bootstrap() {
	for i := range w.founded {
		w.start(i)
	}
	w.starts.Wait()
	w.bootstrapped = true
	_, cl, _ := w.running(0)
	bootstrap := command.AppendBootstrap(nil, w.now(0).UnixMilli(), &command.Bootstrap{
		Marketplace: model.Marketplace{Ordinal: marketplace, ID: ids.UUID{1}, Name: "m", CurrencyCode: "USD", TimeZone: "UTC"},
	})
	for cl != nil {
		if _, err := cl.Propose(context.Background(), w.topology.Meta(), bootstrap); err == nil {
			return
		}
	}
	w.t.Errorf("the cluster cannot be bootstrapped")
}

// finish ends the faults, and the clients when they have all their answers. It returns false if the cluster does not become
// quiet.
func (w *environment) finish(clients *sync.WaitGroup) bool {
	close(w.stop)
	answered := ended(clients)
	for range 12 {
		w.heal() // This also restarts nodes that stopped themselves meanwhile.
		if within(10*time.Second, answered) {
			break
		}
	}
	if !within(0, answered) {
		w.t.Errorf("clients wait for an answer two minutes after the last fault")
	}
	time.Sleep(10 * time.Second)
	w.heal()
	close(w.finished)
	for _, x := range []struct {
		what string
		ends <-chan struct{}
	}{{"clients", answered}, {"nodes that start", ended(&w.starts)}, {"changes of members", ended(&w.others)}} {
		if !within(time.Minute, x.ends) {
			w.t.Errorf("%s do not end", x.what)
			w.reportLagging()
			return false
		}
	}
	for _, h := range w.groups {
		if len(h.tokens) < 100 || h.reads < 20 || len(w.transfers.all) < 20 {
			w.t.Errorf("%d tokens, %d reads and %d transfers are too few to test anything", len(h.tokens), h.reads, len(w.transfers.all))
		}
	}
	return true
}

// ended returns a channel that is closed when all goroutines of a group have ended.
func ended(g *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		g.Wait()
		close(done)
	}()
	return done
}

// within reports whether a channel is closed within a time.
func within(d time.Duration, end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	case <-time.After(d):
	}
	select { // Both channels may have been ready, and select may have chosen the timer.
	case <-end:
		return true
	default:
		return false
	}
}
