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
func (f *founding) enter(ctx context.Context, a answer) (i identity, done bool, err error) {
	if !f.s.c.AnyGroups && !slices.Equal(sorted(a.Groups), sorted(f.s.c.Groups)) {
		return i, false, fmt.Errorf("%w: the cluster at %s has %d groups, this node is set to %d; give it the same number",
			ErrForeign, a.Address, len(a.Groups), len(f.s.c.Groups))
	}
	f.mu.Lock()
	q := f.hello()
	if f.mine.Cluster != "" {
		f.mu.Unlock()
		return i, false, nil // An offer was accepted in between.
	}
	f.mu.Unlock()
	q.Op, q.Subject, q.About = "welcome", f.s.c.NodeID, f.s.about()
	answered, err := f.s.ask(ctx, a.Address, q)
	switch {
	case answered.InUse:
		return i, false, fmt.Errorf("%w: %s", ErrNodeInUse, answered.Refused)
	case err != nil:
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.mayComplain() {
			f.s.c.Logger.Warn("join_refused", slog.Any("err", err))
		}
		return i, false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mine.Cluster != "" {
		return i, false, nil
	}
	f.groups = sorted(a.Groups)
	i = f.identity(a.Cluster, nil)
	i.Joined, i.Via = true, a.Address
	if err := writeIdentity(&f.s.c, i); err != nil {
		return i, false, err
	}
	f.mine, f.settled = i, true
	return i, true, nil
}

// setIdentity makes this node answer as a member of a cluster before it serves.
func (f *founding) belong(i identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mine, f.server, f.groups, f.settled = i, i.Server, i.Groups, true
}
