//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/nemesis/world"
)

const (
	// restartAfter is how long the supervisor waits before it starts a process again that ended by itself.
	restartAfter = 500 * time.Millisecond
	lookEvery    = 50 * time.Millisecond
	// graceAfter is how long after a fault of the disk an exit still counts as its consequence.
	graceAfter = 15 * time.Second
)

// keeper is the supervisor of a data centre: it starts again what died, knows which node is ready, and tells a death that a
// fault explains from one that nothing does.
//
// A fault takes hold of a node before it does something that ends or stops the process, and lets go afterwards. A node is
// "down" from the first hold until it was seen ready after the last one; what it answers meanwhile is nobody's promise.
//
// An end that no fault brought about is judged by rule: a node whose storage hangs or fails has to end itself, with exit 70
// and a reason, and may do so while a fault of ours is at its disk, for the reasons that this fault is one for, and when this
// machine's own disk hung at that moment, which the witness knows. Every other end is a finding.
type keeper struct {
	w       *world.World
	h       *history.History
	witness *witness
	note    func(format string, a ...any) // For whoever watches.
	nodes   []*kept
}

type kept struct {
	number int
	node   *world.Node
	ready  atomic.Bool

	mu      sync.Mutex
	custody custody
	hits    int // Faults that disturb the node.
	excuses []excuse
	down    *history.Span
	exits   int // By itself, as a fault of ours demanded.
	stalls  int // By itself, because this machine's disk hung.
}

// excuse expects that the process ends by itself until some time, for one of these reasons.
type excuse struct {
	until   time.Time
	reasons []string
}

// custody is who keeps a process from being started, and which process was ended by those who did. The supervisor hears of
// an end after whoever waited for it, who may have let go again by then: so a rolling restart once looked like a node that
// had ended by itself, in peace.
type custody struct {
	holds int
	ended <-chan struct{} // Of the last process that ended in custody.
}

func (c *custody) hold() { c.holds++ }

// letGo reports whether this was the last hold; exited is closed when the process has ended.
func (c *custody) letGo(exited <-chan struct{}) (last bool) {
	c.holds--
	select {
	case <-exited:
		c.ended = exited
	default: // It lives, or another fault's end has started it.
	}
	return c.holds == 0
}

// explains reports whether the end of a process is the doing of whoever held it.
func (c *custody) explains(exited <-chan struct{}) bool { return c.holds > 0 || c.ended == exited }

func newKeeper(w *world.World, h *history.History, eye *witness, note func(format string, a ...any)) *keeper {
	k := &keeper{w: w, h: h, witness: eye, note: note}
	for i, n := range w.Nodes {
		k.nodes = append(k.nodes, &kept{number: i, node: n})
	}
	return k
}

// run starts every node and looks after all of them until the context ends.
func (k *keeper) run(ctx context.Context) error {
	for _, n := range k.nodes {
		if err := n.node.Start(); err != nil {
			return err
		}
		go k.watch(ctx, n)
		go k.supervise(ctx, n)
	}
	return nil
}

func (k *keeper) isReady(node int) bool { return k.nodes[node].ready.Load() }

// watch keeps the node's readiness, and ends its down time when it is ready and undisturbed.
func (k *keeper) watch(ctx context.Context, n *kept) {
	for ctx.Err() == nil {
		asked := k.h.Now()
		ready := n.node.Ready(ctx)
		n.ready.Store(ready)
		n.mu.Lock()
		// The question has to come after the last fault's end: a node that was ready before says nothing about after.
		if ready && n.down != nil && n.hits == 0 && asked > n.down.Until {
			span := *n.down
			span.Until = k.h.Now()
			n.down = nil
			k.h.With(func(h *history.History) { h.Down = append(h.Down, span) })
		}
		n.mu.Unlock()
		wait(ctx, lookEvery)
	}
}

// supervise starts the process again when it ended and nobody holds it.
func (k *keeper) supervise(ctx context.Context, n *kept) {
	for ctx.Err() == nil {
		exited := n.node.Exited()
		select {
		case <-ctx.Done():
			return
		case <-exited:
		}
		k.ended(n, exited)
		wait(ctx, restartAfter)
		n.mu.Lock()
		if n.custody.holds == 0 && n.node.Exited() == exited && ctx.Err() == nil {
			if err := n.node.Start(); err != nil {
				k.h.Finding(fmt.Sprintf("%s cannot be started: %v", n.node.ID, err))
			}
		}
		held := n.node.Exited() == exited
		n.mu.Unlock()
		for held && wait(ctx, lookEvery) {
			n.mu.Lock()
			held = n.node.Exited() == exited && n.custody.holds > 0
			n.mu.Unlock()
		}
	}
}

// noticeLag is how long before the supervisor notices an end the node may have stopped to answer: it writes its stacks first.
const noticeLag = time.Second

// ended judges an end that the supervisor saw.
func (k *keeper) ended(n *kept, exited <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ready.Store(false)
	if n.custody.explains(exited) {
		return
	}
	k.disturb(n, "exit")
	n.hits--
	n.down.From = min(n.down.From, k.h.Now()-noticeLag)
	n.down.Until = k.h.Now()
	now, end := time.Now(), readEnding(n.node.End(), n.node.Log)
	switch {
	case end.byDesign(anew):
		n.exits++
		k.note("%s ended itself to begin anew: %s", n.node.ID, end.reason)
	case slices.ContainsFunc(n.excuses, func(x excuse) bool { return now.Before(x.until) && end.byDesign(x.reasons) }):
		n.exits++
		k.note("%s ended itself, as the fault of its disk demands: %s", n.node.ID, end.reason)
	case end.byDesign(hangs) && k.witness.saw(now):
		n.stalls++
		k.note("%s ended itself, and this machine's disk hung: %s", n.node.ID, end.reason)
	default:
		k.h.Finding(fmt.Sprintf("%s ended by itself at %v: %v", n.node.ID, k.h.Now(), end))
		k.note("%s ENDED BY ITSELF: %v", n.node.ID, end)
	}
}

// disturb begins or prolongs the down time. REQUIRES: n.mu is held.
func (k *keeper) disturb(n *kept, why string) {
	n.hits++
	if n.down == nil {
		n.down = &history.Span{Node: n.number, From: k.h.Now(), Why: why}
	}
}

// hit says that a fault disturbs a node; over ends that. Between them and until it is ready the node is down.
func (k *keeper) hit(node int, why string) {
	n := k.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	k.disturb(n, why)
}

func (k *keeper) over(node int) {
	n := k.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hits--
	n.down.Until = k.h.Now()
}

// excuse expects that the process ends by itself for one of these reasons, until some time from now.
func (k *keeper) excuse(node int, length time.Duration, reasons []string) {
	n := k.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.excuses = slices.DeleteFunc(n.excuses, func(x excuse) bool { return now.After(x.until) })
	n.excuses = append(n.excuses, excuse{now.Add(length), reasons})
}

// hold keeps the supervisor from starting the process; letGo ends that and starts it.
func (k *keeper) hold(node int, why string) {
	n := k.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.custody.hold()
	k.disturb(n, why)
}

func (k *keeper) letGo(node int) error {
	n := k.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hits--
	n.down.Until = k.h.Now()
	exited := n.node.Exited()
	if last := n.custody.letGo(exited); !last || n.custody.ended != exited {
		return nil
	}
	return n.node.Start()
}

// allReady waits until every node is ready and none is down.
func (k *keeper) allReady(ctx context.Context) error {
	for {
		missing := k.missing()
		if missing == "" {
			return nil
		}
		if !wait(ctx, lookEvery) {
			return fmt.Errorf("not ready: %s", missing)
		}
	}
}

func (k *keeper) missing() string {
	var all []string
	for _, n := range k.nodes {
		n.mu.Lock()
		if n.down != nil || !n.ready.Load() {
			all = append(all, n.node.ID)
		}
		n.mu.Unlock()
	}
	return strings.Join(all, " ")
}

// stop takes hold of every node for good and ends it in peace.
func (k *keeper) stop() {
	for i := range k.nodes {
		k.hold(i, "end of the run")
	}
	var group sync.WaitGroup
	for _, n := range k.nodes {
		group.Go(func() {
			if err := n.node.Terminate(drainMax); err != nil {
				k.h.Finding(err.Error())
			} else if !n.node.End().Success() {
				k.h.Finding(fmt.Sprintf("%s ended on SIGTERM: %v", n.node.ID, readEnding(n.node.End(), n.node.Log)))
			}
		})
	}
	group.Wait()
}

// wait waits, and reports whether the context still lives.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
