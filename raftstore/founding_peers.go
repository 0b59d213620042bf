package raftstore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// stranger is another node without a cluster.
type stranger struct {
	voter
	expect int
	groups []uint16
	any    bool // It takes other groups, too.
	heard  time.Time
}

// fit notes when another node that wants to found insists on other groups than this one: all have the same command line, so
// one of them is wrong, and to wait would be in vain. It is called for who answers and for who asks, so that both know.
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

// hello is the question by which nodes get to know each other. REQUIRES: mu is held.
func (f *founding) hello() question {
	return question{
		Op: "hello", Server: f.server, Address: string(f.s.address), Expect: f.s.c.Expect, Cluster: f.mine.Cluster, AnyGroups: f.s.c.AnyGroups,
	}
}

// addresses are the seeds and the strangers that others told of.
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

// note remembers a stranger, or forgets one that is about to have a cluster.
func (f *founding) note(node string, s stranger, taken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noteLocked(node, s, taken)
}

func (f *founding) noteLocked(node string, s stranger, taken bool) {
	if node == f.s.c.NodeID {
		if f.mayComplain() {
			f.s.c.Logger.Error("another node has this node's id", slog.String("node", node), slog.String("address", s.Address))
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

// mayComplain is true once in complainPause. REQUIRES: mu is held.
func (f *founding) mayComplain() bool {
	if time.Since(f.complain) < complainPause {
		return false
	}
	f.complain = time.Now()
	return true
}
