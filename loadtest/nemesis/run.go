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
	"github.com/gavel-ads/gavel/loadtest/nemesis/environment"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

const (
	// startMax is how long a new cluster may take until it is ready and the market is set up.
	startMax = 2 * time.Minute
	// recoverMax is how long all nodes may take to be ready after a fault. The promise for a restart is 15 s; a node that
	// was cut off, paused or wiped has more to do, and the machine is shared.
	recoverMax = 90 * time.Second
	// settleMax bounds the resolution of unknown outcomes, the final reads, and the repetition of all acknowledged bodies.
	settleMax = 10 * time.Minute
	diskBytes = 3 << 30
	groups    = 2
)

// run is one run: its settings, the environment, the clients and the history.
type run struct {
	o          options
	out        io.Writer // Progress lines for a person.
	dir        string
	w          *environment.Environment
	h          *history.History
	supervisor *supervisor
	clients    *clients.Clients
	keys       struct{ auction, management string }
	audits     *check.Result
	mu         sync.Mutex // LOCKS: out.
}

// progress writes a progress line with the time since the beginning of the run.
func (r *run) progress(format string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.out, "%8s  %s\n", r.h.Now().Round(time.Millisecond), fmt.Sprintf(format, a...))
}

// perform makes a whole run and returns its report. An error means that nothing was checked.
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
	r.progress("seed %d, %d nodes, %v, logs and history in %s", o.seed, o.nodes, o.length, r.dir)
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		stop()
		err = errors.Join(err, r.w.Close())
	}()
	final, err := r.execute(ctx, live, stop)
	if err != nil {
		return nil, fmt.Errorf("%w; logs in %s", err, r.dir)
	}
	report := r.evaluate(final)
	return report, r.archive(report)
}

// prepare builds the binary, the keys, the certificates and the environment of the nodes.
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
	r.w, err = environment.New(environment.Options{
		Nodes: r.o.nodes, Binary: r.o.binary, LogDir: r.dir, DiskBytes: diskBytes, Args: r.arguments,
		// The network of the namespaces is private. Versions without this setting ignore its variable.
		Env: []string{
			"GAVEL_SERVER_PLAIN_HTTP=true",
			"GAVEL_BOOTSTRAP_AUCTION_KEY=" + r.keys.auction, "GAVEL_BOOTSTRAP_MANAGEMENT_KEY=" + r.keys.management,
		},
	})
	return err
}

// build puts the binary into the directory of the run, where no other build replaces it during the run. It is called node, because
// whoever ends stray processes by the name gavel must not end these.
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

// arguments returns the command line of node i. It is the same on each node but for its id and addresses.
func (r *run) arguments(w *environment.Environment, i int) []string {
	n := w.Nodes[i]
	args := []string{
		"serve", "--data-dir", n.Disk.Data(), "--node-id", n.ID,
		"--auction-listen", n.IP + ":8080", "--manage-listen", n.IP + ":8081", "--peer-listen", n.IP + ":7400",
		"--groups", strconv.Itoa(groups), "--ratelimit-management", "0", "--ratelimit-catalog", "0",
		// The nodes take a snapshot every few seconds, and keep logs so short that a node that was down for long needs one.
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

// execute starts the cluster, runs clients and faults, removes the faults, resolves unknown outcomes and makes the final reads. It
// returns nil without an error when the final state could not be read; the history then has a finding. The nodes run until the
// context live ends, and stop ends it.
func (r *run) execute(ctx, live context.Context, stop context.CancelFunc) (_ *check.FinalState, err error) {
	probe := &diskProbe{h: r.h}
	r.supervisor = newSupervisor(r.w, r.h, probe, r.progress)
	probed := make(chan error, 1)
	probing, stopProbe := context.WithCancel(live)
	go func() { probed <- probe.run(probing, r.w.Spare.Data()) }()
	defer func() {
		stopProbe()
		err = errors.Join(err, <-probed)
	}()
	if err := r.supervisor.run(live); err != nil {
		return nil, err
	}
	starting, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	if err := r.supervisor.allReady(starting); err != nil {
		return nil, fmt.Errorf("the cluster does not start: %w; n1: %v", err, readEnding(nil, r.w.Nodes[0].Log))
	}
	options := clients.Options{
		AuctionKey: r.keys.auction, ManagementKey: r.keys.management, EventsPerSecond: r.o.rate, Storefronts: 6, Seed: r.o.seed,
		Ready: r.supervisor.isReady,
	}
	for _, n := range r.w.Nodes {
		options.Nodes = append(options.Nodes, clients.Node{AuctionURL: n.AuctionURL, ManageURL: n.ManageURL})
	}
	r.clients = clients.New(options, r.h)
	if err := r.clients.SetUp(starting); err != nil {
		return nil, fmt.Errorf("set up the market: %w", err)
	}
	r.progress("the market is set up, faults begin")
	faults, cancel := context.WithTimeout(ctx, r.o.length)
	defer cancel()
	traffic, stopTraffic := context.WithCancel(live)
	var group sync.WaitGroup
	group.Go(func() { r.clients.Run(traffic) })
	group.Go(func() { r.sample(traffic) })
	r.injectFaults(faults)
	healed := r.awaitRecovery(live, "the last fault")
	wait(live, 2*time.Second)
	stopTraffic()
	group.Wait()
	if healed != nil { // A cluster that has not recovered cannot be read; that is a finding already.
		return nil, nil
	}
	r.progress("resolving unknown outcomes, reading the final state")
	settling, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	final, err := r.clients.Finish(settling)
	if err != nil { // That the final state cannot be read is a finding; all other checks are made without it.
		r.h.Finding(fmt.Sprintf("reports, budgets and balances cannot be read at the end: %.2000s", err.Error()))
		return nil, ctx.Err()
	}
	comparing, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := r.awaitEqualIndex(comparing); err != nil {
		r.h.Finding(err.Error())
	}
	r.supervisor.stop()
	stop()
	result := r.audit(ctx, final)
	r.audits = &result
	return final, nil
}
