package raftstore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// unclusteredPeer is another node without a cluster.
type stranger struct {
	voter
	expect int
	groups []uint16
	any    bool // It accepts other groups than its own.
	heard  time.Time
}

// checkGroups records a conflict when another node that wants to found a cluster insists on other groups than this one.
// All nodes should have the same command line, so one of them is wrong and waiting would not help. It is called for
// nodes that answer and for nodes that ask, so that both sides see it.
func (f *founding) fit(node, address string, other stranger) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fitLocked(node, address, other)
}

func (f *founding) fitLocked(node, address string, other stranger) {
	c := &f.s.c
	if other.expect == 0 || c.Expect == 0 || other.any || c.AnyGroups || node == c.NodeID || slices.Equal(sorted(other.groups), f.groups) {
		return
	}
	if f.misfit == nil {
		f.misfitAt = time.Now()
	}
	f.misfit = fmt.Errorf("%w: %s at %s wants to found a cluster of %d groups, this node one of %d; give all nodes the same number",
		ErrForeign, node, address, len(other.groups), len(f.groups))
}

// hello returns the question that introduces this node to another one. REQUIRES: mu is held.
func (f *founding) hello() question {
	return question{
		Op: "hello", Server: f.server, Address: string(f.s.address), Expect: f.s.c.Expect, Cluster: f.mine.Cluster, AnyGroups: f.s.c.AnyGroups,
	}
}

// addresses returns the seeds and the addresses of the known nodes without a cluster.
func (f *founding) addresses(ctx context.Context) []string {
	all := f.s.seeds(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	all = append(all, f.rumours...)
	for _, s := range f.strangers {
		all = append(all, s.Address)
	}
	return f.s.others(all)
}

// recordPeer remembers a node without a cluster, or forgets one that is about to have one.
func (f *founding) note(node string, s stranger, taken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noteLocked(node, s, taken)
}

func (f *founding) noteLocked(node string, s stranger, taken bool) {
	if node == f.s.c.NodeID {
		if f.mayComplain() {
			f.s.c.Logger.Error("node_id_conflict", slog.String("node", node), slog.String("address", s.Address))
		}
		return
	}
	if taken {
		delete(f.strangers, node)
		return
	}
	if _, known := f.strangers[node]; !known && len(f.strangers) >= strangersMax {
		return
	}
	s.heard = time.Now()
	f.strangers[node] = s
}

// mayLog returns true at most once in foundingLogPause. REQUIRES: mu is held.
func (f *founding) mayComplain() bool {
	if time.Since(f.complain) < complainPause {
		return false
	}
	f.complain = time.Now()
	return true
}
