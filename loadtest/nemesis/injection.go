package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

// injectFaults injects faults until the context ends. The schedule is a function of the seed; which node leads is not.
func (r *run) injectFaults(ctx context.Context) {
	schedule := rand.New(rand.NewPCG(r.o.seed, 7_000))
	names := r.o.kinds
	if len(names) == 0 {
		names = kindNames()
	}
	skipped := map[string]bool{}
	for i := uint64(0); ; i++ {
		gap := time.Duration(1_000+schedule.IntN(4_000)) * time.Millisecond
		if r.o.gentle {
			gap *= 2
		}
		if !wait(ctx, gap) {
			return
		}
		first := pickKind(schedule, names, r.o.nodes, "")
		second := pickKind(schedule, names, r.o.nodes, first)
		both := schedule.IntN(4) == 0 && second != ""
		if i < uint64(len(r.o.first)) {
			first, both = r.o.first[i], false
		}
		delay := time.Duration(schedule.IntN(4_000)) * time.Millisecond
		var group sync.WaitGroup
		group.Go(func() { r.injectFault(ctx, first, 2*i, skipped) })
		if both {
			group.Go(func() {
				if wait(ctx, delay) {
					r.injectFault(ctx, second, 2*i+1, skipped)
				}
			})
		}
		group.Wait()
	}
}

// pickKind draws a kind of fault by weight. With beside, the name of another kind, it draws one that may be in force together with
// that; it returns "" when there is none.
func pickKind(schedule *rand.Rand, names []string, nodes int, beside string) string {
	total := 0
	fits := func(name string) bool {
		k := kinds[name]
		return nodes >= k.least && (beside == "" || k.domain != alone && kinds[beside].domain != alone && k.domain != kinds[beside].domain)
	}
	for _, name := range names {
		if fits(name) {
			total += kinds[name].weight
		}
	}
	if total == 0 {
		return ""
	}
	at := schedule.IntN(total)
	for _, name := range names {
		if fits(name) {
			if at -= kinds[name].weight; at < 0 {
				return name
			}
		}
	}
	return ""
}

// injectFault injects one fault, waits until all nodes are ready again, and records the fault.
func (r *run) injectFault(ctx context.Context, name string, number uint64, skipped map[string]bool) {
	if name == "" {
		return
	}
	f := &activeFault{run: r, ctx: ctx, r: rand.New(rand.NewPCG(r.o.seed, 10_000+number)), kind: name, begin: r.h.Now()}
	err := kinds[name].do(f)
	if errors.Is(err, errSkip) {
		r.mu.Lock()
		first := !skipped[name]
		skipped[name] = true
		r.mu.Unlock()
		if first {
			r.progress("SKIPPED: faults of kind %s are not possible here", name)
		}
		return
	}
	if errors.Is(err, errNotInjected) {
		return
	}
	note := history.Fault{Kind: f.kind, Begin: f.begin, Healed: r.h.Now(), Target: f.target, Nodes: f.nodes}
	if err != nil {
		r.h.Finding(fmt.Sprintf("%s of %s: %v", name, f.target, err))
	}
	_ = r.awaitRecovery(context.WithoutCancel(ctx), name) // An error is recorded as a finding.
	note.Settled = r.h.Now()
	r.h.With(func(h *history.History) { h.Faults = append(h.Faults, note) })
	r.progress("%-15s %-22s lasted %6.1fs, all nodes ready after %5.1fs", note.Kind, f.target,
		(note.Healed - note.Begin).Seconds(), (note.Settled - note.Healed).Seconds())
}

// awaitRecovery waits until all nodes are ready. It is a finding when they are not ready within recoverMax; the time in which the
// machine itself hung is added to that.
func (r *run) awaitRecovery(ctx context.Context, after string) error {
	from := r.h.Now()
	for limit := recoverMax; ; {
		inTime, cancel := context.WithTimeout(ctx, from+limit-r.h.Now())
		err := r.supervisor.allReady(inTime)
		cancel()
		if err == nil {
			return nil
		}
		var hung time.Duration
		r.h.With(func(h *history.History) { hung = check.Hung(h.Stalls, from, r.h.Now()) })
		if ctx.Err() == nil && recoverMax+hung > limit {
			limit = recoverMax + hung
			continue
		}
		r.h.Finding(fmt.Sprintf("%v after %s: %v", limit.Round(time.Second), after, err))
		return err
	}
}

// recordIsolated returns a function that records which nodes are cut off now, from now until it is called.
func (r *run) recordIsolated() func() {
	from := r.h.Now()
	var cutOff []int
	for i := range r.w.Nodes {
		if r.w.Net.Isolated(i) {
			cutOff = append(cutOff, i)
		}
	}
	return func() {
		until := r.h.Now()
		r.h.With(func(h *history.History) {
			for _, i := range cutOff {
				h.Isolated = append(h.Isolated, history.Span{Node: i, From: from, Until: until})
			}
		})
	}
}
