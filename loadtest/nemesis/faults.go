//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

// A fault belongs to a domain; two of the same domain are never in force together, because each undoes its own work only.
const (
	processes = "processes"
	network   = "network"
	disks     = "disks"
	alone     = "alone" // Nothing else runs beside it.
)

// drainMax is how long a process may take to end after SIGTERM, as it is promised. In an hour the longest takes a second.
const drainMax = 15 * time.Second

// kind is a kind of fault. Its function does it, lasts as long as the fault does, and undoes it.
type kind struct {
	domain string
	weight int
	least  int // Nodes it needs.
	bound  *check.Bound
	do     func(f *force) error
}

// force is one fault in force.
type force struct {
	*run
	ctx    context.Context
	r      *rand.Rand
	kind   string
	begin  history.Instant
	target string // What the report says it hit.
	nodes  []int
}

// kinds are all faults. Weights are about how often each finds something in a run of an hour.
var kinds = map[string]kind{
	"kill-one":        {processes, 3, 1, minorityGone, func(f *force) error { return f.kill(f.some(1)) }},
	"kill-leader":     {processes, 6, 1, leaderKilled, func(f *force) error { return f.kill(f.leader()) }},
	"kill-f":          {processes, 2, 5, minorityGone, func(f *force) error { return f.kill(f.some(f.minority())) }},
	"kill-all":        {processes, 2, 1, unbound, func(f *force) error { return f.kill(f.some(len(f.w.Nodes))) }},
	"pause-one":       {processes, 2, 1, minorityGone, func(f *force) error { return f.pause(f.some(1)) }},
	"pause-leader":    {processes, 3, 1, minorityGone, func(f *force) error { return f.pause(f.leader()) }},
	"rolling":         {alone, 2, 1, restarted, (*force).rolling},
	"cut-leader":      {network, 4, 3, minorityGone, func(f *force) error { return f.isolate(f.leader()[0]) }},
	"cut-one":         {network, 2, 3, minorityGone, func(f *force) error { return f.isolate(f.some(1)[0]) }},
	"cut-halves":      {network, 2, 5, minorityGone, (*force).halves},
	"cut-ring":        {network, 2, 3, minorityGone, (*force).ring},
	"cut-one-way":     {network, 3, 3, minorityGone, (*force).oneWay},
	"loss":            {network, 2, 3, unbound, (*force).loss},
	"power-one":       {disks, 3, 1, minorityGone, func(f *force) error { return f.power(f.some(1)) }},
	"power-leader":    {disks, 2, 1, minorityGone, func(f *force) error { return f.power(f.leader()) }},
	"power-all":       {disks, 3, 1, unbound, func(f *force) error { return f.power(f.some(len(f.w.Nodes))) }},
	"freeze-short":    {disks, 2, 1, diskHangs, func(f *force) error { return f.freeze(f.leader()[0], f.span(0.5, 2), false) }},
	"freeze-long":     {disks, 2, 1, diskHangs, func(f *force) error { return f.freezeLong(f.leader()[0]) }},
	"freeze-follower": {disks, 2, 3, followerIll, func(f *force) error { return f.ofFollower("freeze-long", f.freezeLong) }},
	"slow-disk":       {disks, 2, 1, unbound, func(f *force) error { return f.slow(f.leader()[0]) }},
	"slow-follower":   {disks, 2, 3, followerIll, func(f *force) error { return f.ofFollower("slow-disk", f.slow) }},
	"full-disk":       {disks, 2, 1, minorityGone, func(f *force) error { return f.full(f.leader()[0]) }},
	"full-follower":   {disks, 2, 3, followerIll, func(f *force) error { return f.ofFollower("full-disk", f.full) }},
	"wipe":            {alone, 2, 3, minorityGone, (*force).wipe},
	"rot":             {alone, 1, 3, minorityGone, (*force).rot},
	"remove":          {alone, 1, 3, minorityGone, (*force).remove},
	"transfer":        {network, 3, 3, minorityGone, (*force).transfer},
	"transfer-storm":  {network, 1, 3, unbound, (*force).storm},
}

func kindNames() []string { return slices.Sorted(maps.Keys(kinds)) }

// span is a length between two numbers of seconds. A gentle run has shorter ones.
func (f *force) span(least, most float64) time.Duration {
	if f.o.gentle {
		most = min(most, least+3)
	}
	return time.Duration((least + f.r.Float64()*(most-least)) * float64(time.Second))
}

// last lets the fault last, or ends it with the run.
func (f *force) last(d time.Duration) { wait(f.ctx, d) }

func (f *force) minority() int { return (len(f.w.Nodes) - 1) / 2 }

// some are k nodes.
func (f *force) some(k int) []int {
	nodes := f.r.Perm(len(f.w.Nodes))[:k]
	slices.Sort(nodes)
	return f.hitting(nodes, "")
}

// leader is the node that leads a group, any node when none does just now.
func (f *force) leader() []int {
	group := f.r.IntN(1_000)
	if node, ok := f.leads(f.ctx, group); ok {
		return f.hitting([]int{node}, " leader")
	}
	return f.some(1)
}

func (f *force) hitting(nodes []int, as string) []int {
	f.nodes, f.target = nodes, ""
	for i, n := range nodes {
		if i > 0 {
			f.target += " "
		}
		f.target += f.w.Nodes[n].ID
	}
	f.target += as
	return nodes
}

// kill kills nodes at once and starts them again after a moment.
func (f *force) kill(nodes []int) error {
	errs := f.each(nodes, func(n int) error {
		f.keeper.hold(n, "kill")
		return f.w.Nodes[n].Kill()
	})
	f.last(f.span(0.1, 8))
	return errors.Join(errs, f.each(nodes, f.keeper.letGo))
}

func (f *force) each(nodes []int, do func(n int) error) error {
	errs := make([]error, len(nodes))
	var group sync.WaitGroup
	for i, n := range nodes {
		group.Go(func() { errs[i] = do(n) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// pause stops processes and lets them go on, as a hypervisor does with a machine.
func (f *force) pause(nodes []int) error {
	errs := f.each(nodes, func(n int) error {
		f.keeper.hit(n, "pause")
		return f.w.Nodes[n].Signal(syscall.SIGSTOP)
	})
	f.last(f.span(1, 30))
	return errors.Join(errs, f.each(nodes, func(n int) error {
		err := f.w.Nodes[n].Signal(syscall.SIGCONT)
		f.keeper.over(n)
		return err
	}))
}

// rolling restarts one node after the other as an upgrade does: each is ready before the next one goes.
func (f *force) rolling() error {
	var all []error
	for _, n := range f.hitting(f.r.Perm(len(f.w.Nodes)), "") {
		f.keeper.hold(n, "rolling restart")
		node := f.w.Nodes[n]
		if err := node.Terminate(drainMax); err != nil {
			f.h.Finding("rolling restart: " + err.Error())
		} else if !node.End().Success() {
			f.h.Finding(fmt.Sprintf("rolling restart: %s ended: %v", node.ID, readEnding(node.End(), node.Log)))
		}
		// The end of the run ends no restart: the node would count as one that did not come back.
		all = append(all, f.keeper.letGo(n), f.recovered(context.WithoutCancel(f.ctx), "rolling restart"))
		f.last(f.span(1, 2))
	}
	return errors.Join(all...)
}

// transfer moves a leadership to another node by the operator's request.
func (f *force) transfer() error {
	group, to := f.r.IntN(1_000), f.r.IntN(len(f.w.Nodes))
	if from, ok := f.leads(f.ctx, group); ok && from == to {
		to = (to + 1) % len(f.w.Nodes)
	}
	f.hitting([]int{to}, " takes over")
	return f.transferTo(f.ctx, group, to)
}

// storm moves leaderships as fast as they go.
func (f *force) storm() error {
	end, moved := time.Now().Add(f.span(3, 10)), 0
	for time.Now().Before(end) && f.ctx.Err() == nil {
		if err := f.transfer(); err == nil {
			moved++
		} else if !errors.Is(err, errNothing) {
			return err
		}
	}
	if moved == 0 {
		return errNothing
	}
	f.target = fmt.Sprint(moved, " moves")
	return nil
}
