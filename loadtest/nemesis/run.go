//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/clients"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/nemesis/world"
)

const (
	// startMax is how long a new cluster may take to be ready and sell.
	startMax = 2 * time.Minute
	// recoverMax is how long all nodes may take to be ready after a fault. The promise for a restart is 15 s; a node that
	// was cut off, paused or wiped has more to do, and the machine is shared.
	recoverMax = 90 * time.Second
	// settleMax bounds the resolution of unknown outcomes, the reading of the books and the reports of everything again.
	settleMax = 10 * time.Minute
	diskBytes = 3 << 30
	groups    = 2
)

// run is one run.
type run struct {
	o       options
	out     io.Writer // Progress, for whoever watches.
	dir     string
	w       *world.World
	h       *history.History
	keeper  *keeper
	clients *clients.Clients
	keys    struct{ auction, management string }
	audits  *check.Verdict
	mu      sync.Mutex // Of out.
}

func (r *run) say(format string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.out, "%8s  %s\n", r.h.Now().Round(time.Millisecond), fmt.Sprintf(format, a...))
}

// perform makes a whole run. An error means that there is no verdict.
func perform(ctx context.Context, o options, out io.Writer) (_ *report, err error) {
	r := &run{o: o, out: out, h: history.New(), dir: o.dir}
	if r.dir == "" {
		if r.dir, err = os.MkdirTemp("", "nemesis-"); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, err
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return nil, err
	}
	r.say("seed %d, %d nodes, %v, logs and history in %s", o.seed, o.nodes, o.length, r.dir)
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		stop()
		err = errors.Join(err, r.w.Close())
	}()
	books, err := r.play(ctx, live, stop)
	if err != nil {
		return nil, fmt.Errorf("%w; logs in %s", err, r.dir)
	}
	report := r.judge(books)
	return report, r.archive(report)
}

// prepare builds the binary, the keys and the world.
func (r *run) prepare(ctx context.Context) error {
	if err := r.build(ctx); err != nil {
		return err
	}
	for kind, key := range map[string]*string{"auction": &r.keys.auction, "management": &r.keys.management} {
		text, err := exec.CommandContext(ctx, r.o.binary, "keys", "generate", "--kind", kind).Output()
		if err != nil {
			return fmt.Errorf("gavel keys generate: %w", err)
		}
		*key = strings.TrimSpace(string(text))
	}
	var ids []string
	for i := range r.o.nodes {
		ids = append(ids, fmt.Sprintf("n%d", i+1))
	}
	if err := writeCertificates(r.dir, ids); err != nil {
		return err
	}
	var err error
	r.w, err = world.New(world.Options{
		Nodes: r.o.nodes, Binary: r.o.binary, LogDir: r.dir, DiskBytes: diskBytes, Args: r.arguments,
		Env: []string{"GAVEL_BOOTSTRAP_AUCTION_KEY=" + r.keys.auction, "GAVEL_BOOTSTRAP_MANAGEMENT_KEY=" + r.keys.management},
	})
	return err
}

// build puts the binary into the run's directory, where nobody replaces it while the run goes on, and under a name of its
// own.
func (r *run) build(ctx context.Context) error {
	given := r.o.binary
	r.o.binary = filepath.Join(r.dir, "node")
	if given != "" {
		text, err := os.ReadFile(given)
		if err != nil {
			return err
		}
		return os.WriteFile(r.o.binary, text, 0o700)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", r.o.binary, "github.com/gavel-ads/gavel/node")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./node: %w\n%s", err, text)
	}
	return nil
}

// arguments are the command line of a node: the same on each but for its name and addresses.
func (r *run) arguments(w *world.World, i int) []string {
	n := w.Nodes[i]
	args := []string{
		"serve", "--data-dir", n.Disk.Data(), "--node-id", n.ID,
		"--auction-listen", n.IP + ":8080", "--manage-listen", n.IP + ":8081", "--peer-listen", n.IP + ":7400",
		"--groups", strconv.Itoa(groups), "--ratelimit-management", "0", "--ratelimit-catalog", "0",
		// Snapshots every few seconds, and logs so short that a node that was away for long needs one.
		"--raft-snapshot-interval", "2s", "--raft-snapshot-threshold", "400", "--raft-trailing-logs", "1200",
		"--staleness", r.o.staleness.String(), "--log-format", "json",
	}
	if len(w.Nodes) > 1 {
		var peers []string
		for _, peer := range w.Nodes {
			peers = append(peers, peer.IP+":7400")
		}
		args = append(args, "--join", strings.Join(peers, ","), "--bootstrap-expect", strconv.Itoa(len(w.Nodes)),
			"--peer-certificate", filepath.Join(r.dir, n.ID+".pem"), "--peer-key", filepath.Join(r.dir, n.ID+".key"),
			"--peer-authority", filepath.Join(r.dir, "authority.pem"))
	}
	return args
}

// play is the run itself: start, load and faults, healing, books. Stop ends what live keeps alive.
func (r *run) play(ctx, live context.Context, stop context.CancelFunc) (_ *check.Books, err error) {
	eye := &witness{h: r.h}
	r.keeper = newKeeper(r.w, r.h, eye, r.say)
	watching := make(chan error, 1)
	watch, unwatch := context.WithCancel(live)
	go func() { watching <- eye.run(watch, r.w.Spare.Data()) }()
	defer func() {
		unwatch()
		err = errors.Join(err, <-watching)
	}()
	if err := r.keeper.run(live); err != nil {
		return nil, err
	}
	starting, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	if err := r.keeper.allReady(starting); err != nil {
		return nil, fmt.Errorf("the cluster does not start: %w; n1: %v", err, readEnding(nil, r.w.Nodes[0].Log))
	}
	options := clients.Options{
		AuctionKey: r.keys.auction, ManagementKey: r.keys.management, EventsPerSecond: r.o.rate, Storefronts: 6, Seed: r.o.seed,
		Ready: r.keeper.isReady,
	}
	for _, n := range r.w.Nodes {
		options.Nodes = append(options.Nodes, clients.Node{AuctionURL: n.AuctionURL, ManageURL: n.ManageURL})
	}
	r.clients = clients.New(options, r.h)
	if err := r.clients.SetUp(starting); err != nil {
		return nil, fmt.Errorf("set up the market: %w", err)
	}
	r.say("the market stands, faults begin")
	faults, cancel := context.WithTimeout(ctx, r.o.length)
	defer cancel()
	traffic, rest := context.WithCancel(live)
	var group sync.WaitGroup
	group.Go(func() { r.clients.Run(traffic) })
	group.Go(func() { r.sample(traffic) })
	r.rage(faults)
	healed := r.recovered(live, "the last fault")
	wait(live, 2*time.Second)
	rest()
	group.Wait()
	if healed != nil { // The books of a cluster that is not whole cannot be read; the verdict is there already.
		return nil, nil
	}
	r.say("resolving what is unknown, reading the books")
	settling, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	books, err := r.clients.Settle(settling)
	if err != nil { // No books is a verdict, too: the rest is judged without them.
		r.h.Finding(fmt.Sprintf("the books cannot be read: %.2000s", err.Error()))
		return nil, ctx.Err()
	}
	meeting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := r.meet(meeting); err != nil {
		r.h.Finding(err.Error())
	}
	r.keeper.stop()
	stop()
	verdict := r.audit(ctx, books)
	r.audits = &verdict
	return books, nil
}
