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
	"sync"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// run is one run, from the start of the node to the report.
type run struct {
	o       options
	say     func(format string, a ...any)
	stderr  io.Writer
	node    *node
	kinds   []attack.Kind
	tenants map[string]attack.Tenant
	windows []window

	operator  *shop.Client
	env       *scenarios.Env
	sampler   *sampler
	store     *storefront
	bare      *bare
	bystander *bystander
	rep       *report
}

// peakFor is how long the peak is measured, peakQuick the same in a quick run.
const (
	peakFor   = 10 * time.Second
	peakQuick = time.Second
)

// perform makes a whole run and returns its report. An error means that nothing was checked.
func perform(ctx context.Context, o options, stderr io.Writer) (rep *report, err error) {
	dir, err := os.MkdirTemp(o.parent, "hostile-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &run{o: o, stderr: stderr, windows: windowsOf(o.length, o.pairs), rep: &report{Options: summary(o), LoadBefore: loadAverage()}}
	// A failed write of progress does not matter.
	r.say = func(format string, a ...any) { _, _ = fmt.Fprintf(stderr, "hostile: "+format+"\n", a...) }
	if r.kinds, err = attack.Named(o.only); err != nil {
		return nil, err
	}
	if r.o.binary == "" {
		r.say("building gavel")
		if r.o.binary, err = build(ctx, dir); err != nil {
			return nil, err
		}
	}
	r.rep.Machine = machineOf(ctx, r.o.binary)
	if r.node, err = startNode(ctx, r.o, dir); err != nil {
		return nil, err
	}
	defer func() {
		if stopped := r.node.stop(); stopped != nil && r.rep.Ended == "" {
			r.say("%v", stopped)
		}
	}()
	r.rep.LimitedBy = r.node.limitedBy
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	return r.rep, r.measure(ctx)
}

// build makes a static binary of this tree.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "gavel")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "github.com/gavel-ads/gavel/node")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
}

// prepare fills the node, makes the tenants, measures the peak and prepares the traffic.
func (r *run) prepare(ctx context.Context) (err error) {
	r.say("filling the node")
	if r.operator, r.env, err = fill(ctx, r.o, r.node); err != nil {
		return err
	}
	if r.tenants, err = makeTenants(ctx, r.node, r.kinds); err != nil {
		return err
	}
	r.bystander = newBystander(r.node, r.tenants[bystanderName])
	if err := r.bystander.prepare(ctx); err != nil {
		return err
	}
	rate := r.o.rate
	if rate == 0 {
		if rate, err = r.peak(ctx); err != nil {
			return err
		}
	}
	r.rep.Rate = rate
	plan, err := driver.ParsePlan(strconv.FormatFloat(rate, 'f', 1, 64), r.windows[len(r.windows)-1].End)
	if err != nil {
		return err
	}
	mixed, err := scenarios.New("mixed")
	if err != nil {
		return err
	}
	if err := mixed.Prepare(ctx, r.env); err != nil {
		return err
	}
	r.store = &storefront{plan: plan, windows: r.windows, scenario: mixed, dial: dialer(r.node)}
	r.bare, err = newBare(len(r.windows))
	return err
}

// peak measures what the node answers to the storefront's own mixture of auctions and events, and returns a third of it.
func (r *run) peak(ctx context.Context) (float64, error) {
	env := *r.env
	env.Run += "p" // The events of the peak have other ids than those of the run.
	mixed, err := scenarios.New("mixed")
	if err != nil {
		return 0, err
	}
	if err := mixed.Prepare(ctx, &env); err != nil {
		return 0, err
	}
	length := peakFor
	if r.o.quick {
		length = peakQuick
	}
	r.rep.Peak, err = peakOf(ctx, mixed, dialer(r.node), r.o.workers, length)
	r.say("the peak is %.0f requests a second", r.rep.Peak)
	return r.rep.Peak / 3, err
}

// measure runs the windows and then compares what was acknowledged with what the node has.
func (r *run) measure(ctx context.Context) error {
	before, err := driver.ReadTotals(ctx, r.operator, time.Now())
	if err != nil {
		return err
	}
	r.say("preparing the attackers")
	attackers, err := startAttackers(&attack.Target{
		Auction: r.node.auction, Manage: r.node.manage, Peer: r.node.peer, Tenants: r.tenants, Connections: r.o.connections, Quick: r.o.quick,
	}, r.o.only, r.stderr)
	if err != nil {
		return err
	}
	total, err := r.send(ctx, attackers)
	if stopped := attackers.stop(); stopped != nil {
		r.say("the attackers ended with %v", stopped)
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("the run was interrupted, so nothing is checked")
	}
	r.rep.Ended = r.node.ended()
	r.finish(ctx, total, before)
	r.rep.LoadAfter = loadAverage()
	r.rep.evaluate(r.o, r.kinds)
	return nil
}

// send runs storefront, bare server, bystander and attackers at the same time. When the process of the node ends, all of them end.
func (r *run) send(ctx context.Context, attackers *attackerProcess) (total *tally, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.node.exited:
			r.say("THE PROCESS HAS ENDED: %s", r.node.ended())
			cancel()
		case <-ctx.Done():
		}
	}()
	r.sampler = &sampler{node: r.node, limit: r.o.memory}
	start := time.Now().Add(100 * time.Millisecond)
	r.store.start = start
	var group sync.WaitGroup
	var failures [3]error
	group.Go(func() { r.sampler.run(ctx) })
	group.Go(func() { r.progress(ctx, start) })
	group.Go(func() { r.bystander.run(ctx, start, r.windows) })
	group.Go(func() { failures[0] = r.bare.run(ctx, start, r.windows) })
	group.Go(func() { failures[1] = r.attacks(ctx, attackers, start) })
	total, failures[2] = r.store.run(ctx, r.o.workers)
	cancelled := ctx.Err() != nil
	group.Go(func() { // The sampler and the progress end with the last window.
		if !cancelled {
			time.Sleep(time.Until(start.Add(r.windows[len(r.windows)-1].End)))
		}
		cancel()
	})
	group.Wait()
	r.rep.Attackers = attackers.last
	r.bare.server.Close()
	if r.node.ended() != "" {
		return total, nil // All failures after the end of the process follow from it.
	}
	return total, errors.Join(failures[:]...)
}

// attacks sends an order to the process of the attackers at the beginning of each window with attackers.
func (r *run) attacks(ctx context.Context, attackers *attackerProcess, start time.Time) error {
	// On SIGTERM the process ends its window and returns its results.
	stop := context.AfterFunc(ctx, func() { _ = attackers.cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()
	for _, w := range r.windows {
		if !w.Attack {
			continue
		}
		select {
		case <-time.After(time.Until(start.Add(w.Begin))):
		case <-ctx.Done():
			return nil
		}
		if err := attackers.attack(w.End - w.Begin); err != nil {
			return fmt.Errorf("the attackers: %w", err)
		}
	}
	return nil
}

// progressEvery is the time between two progress lines.
const progressEvery = 10 * time.Second

// progress prints a line every progressEvery.
func (r *run) progress(ctx context.Context, start time.Time) {
	end := r.windows[len(r.windows)-1].End
	for {
		select {
		case <-time.After(progressEvery):
		case <-ctx.Done():
			return
		}
		at := time.Since(start)
		what := "quiet"
		if r.windows[windowAt(r.windows, at)].Attack {
			what = "ATTACK"
		}
		now, most, _, _ := r.sampler.read()
		r.say("%5s of %s  %-6s  %d requests, %d without success, RSS %d MiB (most %d), %d files (most %d)", at.Round(time.Second), end.Round(time.Second),
			what, r.store.sent.Load(), r.store.failed.Load(), now.RSS>>20, max(most.RSS, most.Peak)>>20, now.Files, most.Files)
	}
}

// finish resolves unknown outcomes and reads reports and audit logs. When something cannot be read, the report says so, and its check is
// violated.
func (r *run) finish(ctx context.Context, total *tally, before driver.Totals) {
	rep := r.rep
	_, most, samples, killed := r.sampler.read()
	rep.Samples, rep.PeakRSS, rep.PeakFiles, rep.Killed = samples, max(most.RSS, most.Peak), most.Files, killed
	rep.fill(r.windows, total, r.bare, r.bystander)
	if rep.Ended != "" {
		return
	}
	var err error
	if rep.Settled, err = total.resolveUnknown(ctx, r.store.dial); err != nil {
		rep.EventsNote = err.Error()
		return
	}
	rep.Events = total.acked.Impressions + total.acked.Clicks
	after, err := driver.ReadTotals(ctx, r.operator, time.Now())
	if err != nil {
		rep.EventsNote = err.Error()
		return
	}
	rep.EventsRead, rep.EventsDiffer = true, driver.CompareTotals(before, after, total.acked)
	r.audits(ctx)
}

// audits compares the audit logs of the two marketplaces whose changes have marks, those of the bystander and of the attacker changes.
func (r *run) audits(ctx context.Context) {
	marks := map[string][]string{bystanderName: r.bystander.marks}
	for _, a := range r.rep.Attackers {
		if a.Name == "changes" {
			marks[a.Name] = a.Marks
		}
	}
	for name, written := range marks {
		a := auditLine{Marketplace: name, Changes: len(written)}
		missing, unanswered, err := audited(ctx, r.node, r.tenants[name], written)
		if err != nil {
			a.Note = err.Error()
		}
		a.Read, a.Lost, a.Unanswered = err == nil, len(missing), unanswered
		a.Some = missing[:min(len(missing), 5)]
		r.rep.Audits = append(r.rep.Audits, a)
	}
}
