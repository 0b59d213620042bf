//go:build linux

package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// followMax is how long a node that is to be a follower may take to be rid of what it leads.
const followMax = 10 * time.Second

// ofFollower does to a node that leads nothing what a fault of another kind does to a leader. Where every node leads something,
// others take that over first, and the fault begins when they have. A node that leads in the end, because leaders were balanced
// meanwhile, had the fault of the other kind.
func (f *force) ofFollower(otherwise string, do func(node int) error) error {
	node := f.some(1)[0]
	for deadline := time.Now().Add(followMax); f.leadsAny(node); {
		if err := f.relieve(node); err != nil {
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

// relieve asks for other leaders of all that a node leads. One that is not there leads nothing.
func (r *run) relieve(node int) error {
	groups, _ := r.scrape(context.Background(), node)
	names := map[string]bool{}
	for name := range groups {
		names[name] = true
	}
	for number, name := range groupNames(names) {
		if !groups[name].leads {
			continue
		}
		if err := r.transferTo(context.Background(), number, (node+1)%len(r.w.Nodes)); err != nil && !errors.Is(err, errNothing) {
			return err
		}
	}
	return nil
}
