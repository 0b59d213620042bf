//go:build linux

package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// followerWaitMax is how long a node may take until it leads no group.
const followerWaitMax = 10 * time.Second

// onFollower injects the fault that do injects into a leader, of the kind otherwise, into a node that leads no group. If the node leads
// groups, other nodes take them over first, and the fault begins when they have. If the node leads a group when the fault ends, because
// leaders were balanced meanwhile, the fault counts as the kind otherwise.
func (f *activeFault) onFollower(otherwise string, do func(node int) error) error {
	node := f.randomNodes(1)[0]
	for deadline := time.Now().Add(followerWaitMax); f.leadsAny(node); {
		if err := f.transferLeaderships(node); err != nil {
			return err
		}
		if time.Now().After(deadline) || !wait(f.ctx, 200*time.Millisecond) {
			f.kind = otherwise
			break
		}
	}
	f.target += " follower"
	f.begin = f.h.Now()
	err := do(node)
	if f.leadsAny(node) {
		f.kind = otherwise
	}
	return err
}

// leadsAny reports whether a node leads a group.
func (r *run) leadsAny(node int) bool {
	groups, err := r.scrape(context.Background(), node)
	return err == nil && slices.ContainsFunc(slices.Collect(maps.Values(groups)), func(g groupState) bool { return g.leads })
}

// transferLeaderships asks for another leader of each group that a node leads. A node that does not answer leads nothing.
func (r *run) transferLeaderships(node int) error {
	groups, _ := r.scrape(context.Background(), node)
	names := map[string]bool{}
	for name := range groups {
		names[name] = true
	}
	for number, name := range groupNames(names) {
		if !groups[name].leads {
			continue
		}
		if err := r.transferTo(context.Background(), number, (node+1)%len(r.w.Nodes)); err != nil && !errors.Is(err, errNotInjected) {
			return err
		}
	}
	return nil
}
