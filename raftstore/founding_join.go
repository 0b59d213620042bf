package raftstore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// joinCluster makes the directory one of the cluster that a member reported, unless that member has a reason against
// it. It returns ErrForeign when the groups differ and ErrNodeInUse when another process has the node's id; any other
// refusal is logged and asked for again.
func (f *founding) joinCluster(ctx context.Context, a answer) (i identity, done bool, err error) {
	if !f.store.c.AnyGroups && !slices.Equal(sorted(a.Groups), sorted(f.store.c.Groups)) {
		return i, false, fmt.Errorf("%w: the cluster at %s has %d groups, this node is set to %d; give it the same number",
			ErrForeign, a.Address, len(a.Groups), len(f.store.c.Groups))
	}
	f.mu.Lock()
	q := f.hello()
	if f.current.Cluster != "" {
		f.mu.Unlock()
		return i, false, nil // An offer was accepted in between.
	}
	f.mu.Unlock()
	q.Op, q.Subject, q.NodeInfo = "welcome", f.store.c.NodeID, f.store.nodeInfo()
	answered, err := f.store.ask(ctx, a.Address, q)
	switch {
	case answered.InUse:
		return i, false, fmt.Errorf("%w: %s", ErrNodeInUse, answered.Refused)
	case err != nil:
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.mayLog() {
			f.store.c.Logger.Warn("join_refused", slog.Any("err", err))
		}
		return i, false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current.Cluster != "" {
		return i, false, nil
	}
	f.groups = sorted(a.Groups)
	i = f.identity(a.Cluster, nil)
	i.Joined, i.Via = true, a.Address
	if err := writeIdentity(&f.store.c, i); err != nil {
		return i, false, err
	}
	f.current, f.final = i, true
	return i, true, nil
}

// setIdentity makes this node answer as a member of a cluster before it serves.
func (f *founding) setIdentity(i identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current, f.server, f.groups, f.final = i, i.Server, i.Groups, true
}
