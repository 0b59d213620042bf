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

	"github.com/gavel-ads/gavel/loadtest/nemesis/environment"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

const (
	// restartDelay is how long the supervisor waits before it starts a process again that ended by itself.
	restartDelay = 500 * time.Millisecond
	pollInterval = 50 * time.Millisecond
	// exitAllowedAfter is how long after a fault of the disk an exit still counts as its consequence.
	exitAllowedAfter = 15 * time.Second
)

// supervisor starts processes again that have ended, knows which node is ready, and tells an exit by design from a finding.
//
// A fault acquires a node before it does something that ends or stops the process, and releases it afterwards. A node is "down" from
// the first acquisition until it was seen ready after the last release; no promise covers what it answers meanwhile.
//
// An exit that no owner caused is by design in three cases, each with exit code 70 and a reason: the node must start anew whatever is
// done to it; an injected fault of its disk allows this reason (a node whose storage hangs or fails has to end itself); or the disk
// probe saw this machine's own disk hang just before. Every other exit is a finding.
type supervisor struct {
	w         *environment.Environment
	h         *history.History
	diskProbe *diskProbe
	note      func(format string, a ...any) // Prints progress for a person.
	nodes     []*supervisedNode
}

// supervisedNode is a node with what the supervisor knows of it.
type supervisedNode struct {
	number int
	node   *environment.Node
	ready  atomic.Bool

	mu           sync.Mutex // LOCKS: everything below.
	ownership    ownership
	disturbances int // How many faults disturb the node now.
	allowedExits []allowedExit
	down         *history.Span
	faultExits   int // How often it ended itself as an injected fault allows.
	stallExits   int // How often it ended itself because this machine's disk hung.
}

// allowedExit allows the process to end itself for one of these reasons, until some time.
type allowedExit struct {
	until   time.Time
	reasons []string
}

// ownership counts the faults that keep a process from being started, and records which process ended while it was owned. The
// supervisor learns of an exit later than the fault that waited for it, which may have released the node by then; without the
// record the end of a rolling restart would look like an exit of the node's own.
type ownership struct {
	owners          int
	endedWhileOwned <-chan struct{} // The exit channel of the last process that ended while it was owned.
}

// acquire adds an owner.
func (c *ownership) acquire() { c.owners++ }

// release removes an owner and reports whether it was the last one; exited is closed when the process has ended.
func (c *ownership) release(exited <-chan struct{}) (last bool) {
	c.owners--
	select {
	case <-exited:
		c.endedWhileOwned = exited
	default: // The process runs, or the release of another fault has started it.
	}
	return c.owners == 0
}

// caused reports whether an owner caused the end of a process.
func (c *ownership) caused(exited <-chan struct{}) bool {
	return c.owners > 0 || c.endedWhileOwned == exited
}

func newSupervisor(w *environment.Environment, h *history.History, probe *diskProbe, note func(format string, a ...any)) *supervisor {
	s := &supervisor{w: w, h: h, diskProbe: probe, note: note}
	for i, n := range w.Nodes {
		s.nodes = append(s.nodes, &supervisedNode{number: i, node: n})
	}
	return s
}

// run starts every node and supervises all of them until the context ends. It returns at once.
func (s *supervisor) run(ctx context.Context) error {
	for _, n := range s.nodes {
		if err := n.node.Start(); err != nil {
			return err
		}
		go s.watch(ctx, n)
		go s.supervise(ctx, n)
	}
	return nil
}

func (s *supervisor) isReady(node int) bool { return s.nodes[node].ready.Load() }

// watch polls the readiness of a node, and ends its down time when it is ready and no fault disturbs it.
func (s *supervisor) watch(ctx context.Context, n *supervisedNode) {
	for ctx.Err() == nil {
		asked := s.h.Now()
		ready := n.node.Ready(ctx)
		n.ready.Store(ready)
		n.mu.Lock()
		// The request must have been sent after the last fault ended: that a node was ready before says nothing about after.
		if ready && n.down != nil && n.disturbances == 0 && asked > n.down.Until {
			span := *n.down
			span.Until = s.h.Now()
			n.down = nil
			s.h.With(func(h *history.History) { h.Down = append(h.Down, span) })
		}
		n.mu.Unlock()
		wait(ctx, pollInterval)
	}
}

// supervise starts the process again when it has ended and no fault owns it.
func (s *supervisor) supervise(ctx context.Context, n *supervisedNode) {
	for ctx.Err() == nil {
		exited := n.node.Exited()
		select {
		case <-ctx.Done():
			return
		case <-exited:
		}
		s.handleExit(n, exited)
		wait(ctx, restartDelay)
		n.mu.Lock()
		if n.ownership.owners == 0 && n.node.Exited() == exited && ctx.Err() == nil {
			if err := n.node.Start(); err != nil {
				s.h.Finding(fmt.Sprintf("%s cannot be started: %v", n.node.ID, err))
			}
		}
		held := n.node.Exited() == exited
		n.mu.Unlock()
		for held && wait(ctx, pollInterval) {
			n.mu.Lock()
			held = n.node.Exited() == exited && n.ownership.owners > 0
			n.mu.Unlock()
		}
	}
}

// exitNoticeDelay is how long before the supervisor notices an exit the node may have stopped answering: it writes its stacks first.
const exitNoticeDelay = time.Second

// handleExit decides whether an exit that the supervisor saw is by design or a finding.
func (s *supervisor) handleExit(n *supervisedNode, exited <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ready.Store(false)
	if n.ownership.caused(exited) {
		return
	}
	s.disturb(n, "exit")
	n.disturbances--
	n.down.From = min(n.down.From, s.h.Now()-exitNoticeDelay)
	n.down.Until = s.h.Now()
	now, end := time.Now(), readEnding(n.node.End(), n.node.Log)
	switch {
	case end.byDesign(restartReasons):
		n.faultExits++
		s.note("%s ended itself to start anew: %s", n.node.ID, end.reason)
	case slices.ContainsFunc(n.allowedExits, func(x allowedExit) bool { return now.Before(x.until) && end.byDesign(x.reasons) }):
		n.faultExits++
		s.note("%s ended itself, as the fault of its disk requires: %s", n.node.ID, end.reason)
	case end.byDesign(hangReasons) && s.diskProbe.hungRecently(now):
		n.stallExits++
		s.note("%s ended itself, and this machine's disk hung: %s", n.node.ID, end.reason)
	default:
		s.h.Finding(fmt.Sprintf("%s ended by itself at %v: %v", n.node.ID, s.h.Now(), end))
		s.note("%s ENDED BY ITSELF: %v", n.node.ID, end)
	}
}

// disturb begins the down time of a node, or adds a disturbance to it. REQUIRES: n.mu is held.
func (s *supervisor) disturb(n *supervisedNode, why string) {
	n.disturbances++
	if n.down == nil {
		n.down = &history.Span{Node: n.number, From: s.h.Now(), Why: why}
	}
}

// beginDisturbance records that a fault disturbs a node, and endDisturbance that it does no longer. From the first call until it is ready
// after the last one the node is down.
func (s *supervisor) beginDisturbance(node int, why string) {
	n := s.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	s.disturb(n, why)
}

// endDisturbance is the counterpart of beginDisturbance.
func (s *supervisor) endDisturbance(node int) {
	n := s.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disturbances--
	n.down.Until = s.h.Now()
}

// allowExit allows the process to end itself for one of these reasons, for so long from now on.
func (s *supervisor) allowExit(node int, length time.Duration, reasons []string) {
	n := s.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.allowedExits = slices.DeleteFunc(n.allowedExits, func(x allowedExit) bool { return now.After(x.until) })
	n.allowedExits = append(n.allowedExits, allowedExit{now.Add(length), reasons})
}

// acquire keeps the supervisor from starting the process. The last release ends that, and starts the process if it ended meanwhile.
func (s *supervisor) acquire(node int, why string) {
	n := s.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ownership.acquire()
	s.disturb(n, why)
}

// release is the counterpart of acquire. It returns the error of starting the process.
func (s *supervisor) release(node int) error {
	n := s.nodes[node]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disturbances--
	n.down.Until = s.h.Now()
	exited := n.node.Exited()
	if last := n.ownership.release(exited); !last || n.ownership.endedWhileOwned != exited {
		return nil
	}
	return n.node.Start()
}

// allReady waits until every node is ready and none is down. Its error names the others when the context ends.
func (s *supervisor) allReady(ctx context.Context) error {
	for {
		missing := s.notReady()
		if missing == "" {
			return nil
		}
		if !wait(ctx, pollInterval) {
			return fmt.Errorf("not ready: %s", missing)
		}
	}
}

// notReady names the nodes that are down or not ready.
func (s *supervisor) notReady() string {
	var all []string
	for _, n := range s.nodes {
		n.mu.Lock()
		if n.down != nil || !n.ready.Load() {
			all = append(all, n.node.ID)
		}
		n.mu.Unlock()
	}
	return strings.Join(all, " ")
}

// stop acquires every node for good and ends its process with SIGTERM.
func (s *supervisor) stop() {
	for i := range s.nodes {
		s.acquire(i, "end of the run")
	}
	var group sync.WaitGroup
	for _, n := range s.nodes {
		group.Go(func() {
			if err := n.node.Terminate(drainMax); err != nil {
				s.h.Finding(err.Error())
			} else if !n.node.End().Success() {
				s.h.Finding(fmt.Sprintf("%s ended on SIGTERM: %v", n.node.ID, readEnding(n.node.End(), n.node.Log)))
			}
		})
	}
	group.Wait()
}

// wait waits for a duration. It returns false at once when the context ends.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
