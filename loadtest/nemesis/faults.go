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

// A fault belongs to a domain. Two faults of the same domain are never in force together, because each undoes only what it did itself.
const (
	processes = "processes"
	network   = "network"
	disks     = "disks"
	alone     = "alone" // No other fault is in force beside it.
)

// drainMax is how long a process may take to end after SIGTERM, as promised to operators. In a run of an hour the longest takes a second.
const drainMax = 15 * time.Second

// kind is a kind of fault. Its function injects the fault, waits as long as the fault lasts, and removes it.
type kind struct {
	domain string
	weight int
	least  int          // The least number of nodes that it needs.
	bound  *check.Bound // The bound of its write gap; nil: none.
	do     func(f *activeFault) error
}

// activeFault is one fault in force.
type activeFault struct {
	*run
	ctx    context.Context
	r      *rand.Rand
	kind   string
	begin  history.Instant
	target string // What it hit, for the report.
	nodes  []int
}

// kinds are all kinds of faults by name. A weight says how often a kind is chosen; kinds that find more in a run of an hour have a
// higher one.
var kinds = map[string]kind{
	"kill-one":        {processes, 3, 1, minorityFails, func(f *activeFault) error { return f.kill(f.randomNodes(1)) }},
	"kill-leader":     {processes, 6, 1, leaderKilled, func(f *activeFault) error { return f.kill(f.groupLeader()) }},
	"kill-f":          {processes, 2, 5, minorityFails, func(f *activeFault) error { return f.kill(f.randomNodes(f.minoritySize())) }},
	"kill-all":        {processes, 2, 1, noBound, func(f *activeFault) error { return f.kill(f.randomNodes(len(f.w.Nodes))) }},
	"pause-one":       {processes, 2, 1, minorityFails, func(f *activeFault) error { return f.pause(f.randomNodes(1)) }},
	"pause-leader":    {processes, 3, 1, minorityFails, func(f *activeFault) error { return f.pause(f.groupLeader()) }},
	"rolling":         {alone, 2, 1, rollingRestart, (*activeFault).rolling},
	"cut-leader":      {network, 4, 3, minorityFails, func(f *activeFault) error { return f.isolate(f.groupLeader()[0]) }},
	"cut-one":         {network, 2, 3, minorityFails, func(f *activeFault) error { return f.isolate(f.randomNodes(1)[0]) }},
	"cut-halves":      {network, 2, 5, minorityFails, (*activeFault).halves},
	"cut-ring":        {network, 2, 3, minorityFails, (*activeFault).ring},
	"cut-one-way":     {network, 3, 3, minorityFails, (*activeFault).oneWay},
	"loss":            {network, 2, 3, noBound, (*activeFault).loss},
	"power-one":       {disks, 3, 1, minorityFails, func(f *activeFault) error { return f.power(f.randomNodes(1)) }},
	"power-leader":    {disks, 2, 1, minorityFails, func(f *activeFault) error { return f.power(f.groupLeader()) }},
	"power-all":       {disks, 3, 1, noBound, func(f *activeFault) error { return f.power(f.randomNodes(len(f.w.Nodes))) }},
	"freeze-short":    {disks, 2, 1, diskHangs, func(f *activeFault) error { return f.freeze(f.groupLeader()[0], f.randomDuration(0.5, 2), false) }},
	"freeze-long":     {disks, 2, 1, diskHangs, func(f *activeFault) error { return f.freezeLong(f.groupLeader()[0]) }},
	"freeze-follower": {disks, 2, 3, followerDiskFails, func(f *activeFault) error { return f.onFollower("freeze-long", f.freezeLong) }},
	"slow-disk":       {disks, 2, 1, noBound, func(f *activeFault) error { return f.slow(f.groupLeader()[0]) }},
	"slow-follower":   {disks, 2, 3, followerDiskFails, func(f *activeFault) error { return f.onFollower("slow-disk", f.slow) }},
	"full-disk":       {disks, 2, 1, minorityFails, func(f *activeFault) error { return f.full(f.groupLeader()[0]) }},
	"full-follower":   {disks, 2, 3, followerDiskFails, func(f *activeFault) error { return f.onFollower("full-disk", f.full) }},
	"wipe":            {alone, 2, 3, minorityFails, (*activeFault).wipe},
	"corruption":      {alone, 1, 3, minorityFails, (*activeFault).corrupt},
	"remove":          {alone, 1, 3, minorityFails, (*activeFault).remove},
	"transfer":        {network, 3, 3, minorityFails, (*activeFault).transfer},
	"transfer-storm":  {network, 1, 3, noBound, (*activeFault).transferStorm},
}

func kindNames() []string { return slices.Sorted(maps.Keys(kinds)) }

// randomDuration returns a duration between two numbers of seconds. In a gentle run it is at most 3 s above the least.
func (f *activeFault) randomDuration(least, most float64) time.Duration {
	if f.o.gentle {
		most = min(most, least+3)
	}
	return time.Duration((least + f.r.Float64()*(most-least)) * float64(time.Second))
}

// sustain waits as long as the fault lasts, or until the run ends.
func (f *activeFault) sustain(d time.Duration) { wait(f.ctx, d) }

// minoritySize is the largest number of nodes that may fail without the cluster losing its majority.
func (f *activeFault) minoritySize() int { return (len(f.w.Nodes) - 1) / 2 }

// randomNodes draws k nodes and makes them the target.
func (f *activeFault) randomNodes(k int) []int {
	nodes := f.r.Perm(len(f.w.Nodes))[:k]
	slices.Sort(nodes)
	return f.setTarget(nodes, "")
}

// groupLeader makes the leader of a random group the target, or a random node when that group has no leader at the moment.
func (f *activeFault) groupLeader() []int {
	group := f.r.IntN(1_000)
	if node, ok := f.leaderOf(f.ctx, group); ok {
		return f.setTarget([]int{node}, " leader")
	}
	return f.randomNodes(1)
}

// setTarget records which nodes the fault hits, and as what.
func (f *activeFault) setTarget(nodes []int, as string) []int {
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

// kill kills nodes at the same moment and starts them again after up to 8 s.
func (f *activeFault) kill(nodes []int) error {
	errs := f.each(nodes, func(n int) error {
		f.supervisor.acquire(n, "kill")
		return f.w.Nodes[n].Kill()
	})
	f.sustain(f.randomDuration(0.1, 8))
	return errors.Join(errs, f.each(nodes, f.supervisor.release))
}

// each calls a function for each node, all at the same moment.
func (f *activeFault) each(nodes []int, do func(n int) error) error {
	errs := make([]error, len(nodes))
	var group sync.WaitGroup
	for i, n := range nodes {
		group.Go(func() { errs[i] = do(n) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// pause stops processes with SIGSTOP and continues them after up to 30 s, as a hypervisor does with a virtual machine.
func (f *activeFault) pause(nodes []int) error {
	errs := f.each(nodes, func(n int) error {
		f.supervisor.beginDisturbance(n, "pause")
		return f.w.Nodes[n].Signal(syscall.SIGSTOP)
	})
	f.sustain(f.randomDuration(1, 30))
	return errors.Join(errs, f.each(nodes, func(n int) error {
		err := f.w.Nodes[n].Signal(syscall.SIGCONT)
		f.supervisor.endDisturbance(n)
		return err
	}))
}

// rolling restarts one node after the other as an upgrade does: each is ready before the next one is stopped.
func (f *activeFault) rolling() error {
	var all []error
	for _, n := range f.setTarget(f.r.Perm(len(f.w.Nodes)), "") {
		f.supervisor.acquire(n, "rolling restart")
		node := f.w.Nodes[n]
		if err := node.Terminate(drainMax); err != nil {
			f.h.Finding("rolling restart: " + err.Error())
		} else if !node.End().Success() {
			f.h.Finding(fmt.Sprintf("rolling restart: %s ended: %v", node.ID, readEnding(node.End(), node.Log)))
		}
		// A restart goes on when the run ends; otherwise the node would count as one that did not become ready.
		all = append(all, f.supervisor.release(n), f.awaitRecovery(context.WithoutCancel(f.ctx), "rolling restart"))
		f.sustain(f.randomDuration(1, 2))
	}
	return errors.Join(all...)
}

// transfer asks the operator API to move a leadership to another node.
func (f *activeFault) transfer() error {
	group, to := f.r.IntN(1_000), f.r.IntN(len(f.w.Nodes))
	if from, ok := f.leaderOf(f.ctx, group); ok && from == to {
		to = (to + 1) % len(f.w.Nodes)
	}
	f.setTarget([]int{to}, " takes over")
	return f.transferTo(f.ctx, group, to)
}

// transferStorm moves leaderships one after the other for some seconds.
func (f *activeFault) transferStorm() error {
	end, moved := time.Now().Add(f.randomDuration(3, 10)), 0
	for time.Now().Before(end) && f.ctx.Err() == nil {
		if err := f.transfer(); err == nil {
			moved++
		} else if !errors.Is(err, errNotInjected) {
			return err
		}
	}
	if moved == 0 {
		return errNotInjected
	}
	f.target = fmt.Sprint(moved, " moves")
	return nil
}
