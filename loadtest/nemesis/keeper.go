//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
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
type keeper struct {
	w     *world.World
	h     *history.History
	nodes []*kept
}

type kept struct {
	number int
	node   *world.Node
	ready  atomic.Bool

	mu      sync.Mutex
	holds   int       // Faults that keep the process from being started.
	hits    int       // Faults that disturb the node.
	excused time.Time // Until then an exit by itself is expected.
	down    *history.Span
	exits   int // By itself, as expected.
}

func newKeeper(w *world.World, h *history.History) *keeper {
	k := &keeper{w: w, h: h}
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
		k.ended(n)
		wait(ctx, restartAfter)
		n.mu.Lock()
		if n.holds == 0 && n.node.Exited() == exited && ctx.Err() == nil {
			if err := n.node.Start(); err != nil {
				k.h.Finding(fmt.Sprintf("%s cannot be started: %v", n.node.ID, err))
			}
		}
		held := n.node.Exited() == exited
		n.mu.Unlock()
		for held && wait(ctx, lookEvery) {
			n.mu.Lock()
			held = n.node.Exited() == exited && n.holds > 0
			n.mu.Unlock()
		}
	}
}

// ended judges an exit that the supervisor saw.
func (k *keeper) ended(n *kept) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ready.Store(false)
	if n.holds > 0 {
		return
	}
	k.disturb(n, "exit")
	n.hits--
	n.down.Until = k.h.Now()
	if time.Now().Before(n.excused) {
		n.exits++
		return
	}
	k.h.Finding(fmt.Sprintf("%s ended by itself at %v (%v); the end of its log:\n%s", n.node.ID, k.h.Now(), n.node.End(), logTail(n.node.Log)))
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

// excuse expects that the process ends by itself until some time from now.
func (k *keeper) excuse(node int, length time.Duration) {
	n := k.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	if until := time.Now().Add(length); until.After(n.excused) {
		n.excused = until
	}
}

// hold keeps the supervisor from starting the process; letGo ends that and starts it.
func (k *keeper) hold(node int, why string) {
	n := k.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.holds++
	k.disturb(n, why)
}

func (k *keeper) letGo(node int) error {
	n := k.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.holds--
	n.hits--
	n.down.Until = k.h.Now()
	if n.holds > 0 {
		return nil
	}
	select {
	case <-n.node.Exited():
		return n.node.Start()
	default: // Another fault's end has started it.
		return nil
	}
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
				k.h.Finding(fmt.Sprintf("%s ended on SIGTERM with %v; the end of its log:\n%s", n.node.ID, n.node.End(), logTail(n.node.Log)))
			}
		})
	}
	group.Wait()
}

func logTail(path string) string {
	const most = 2 << 10
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(len(text)-most, 0):])
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
