package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gavel-ads/gavel/raftstore/pebblelog"
)

// joinCluster makes the directory one of the cluster that a member reported, unless that member has a reason against
// it. It returns pebblelog.ErrForeign when the groups differ and ErrNodeInUse when another process has the node's id;
// any other refusal is logged and asked for again.
func (f *Founding) joinCluster(ctx context.Context, a greeted) (i Identity, done bool, err error) {
	if !f.peers.c.AnyGroups && !slices.Equal(sorted(a.Groups), sorted(f.peers.c.Groups)) {
		return i, false, fmt.Errorf("%w: the cluster at %s has %d groups, this node is set to %d; give it the same number",
			pebblelog.ErrForeign, a.Address, len(a.Groups), len(f.peers.c.Groups))
	}
	f.mu.Lock()
	me := f.hello()
	if f.current.Cluster != "" {
		f.mu.Unlock()
		return i, false, nil // An offer was accepted in between.
	}
	f.mu.Unlock()
	_, _, err = welcome.Ask(ctx, f.peers.port, a.Address, applicant{
		Node: f.peers.c.Node, Server: me.Server, Address: me.Address, NodeInfo: f.peers.c.NodeInfo(),
	})
	switch {
	case errors.Is(err, ErrNodeInUse):
		return i, false, err
	case err != nil:
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.mayLog() {
			f.peers.c.Logger.Warn("join_refused", slog.Any("err", err))
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
	if err := i.Write(f.peers.c.FS, f.peers.c.Dir); err != nil {
		return i, false, err
	}
	f.current, f.final = i, true
	return i, true, nil
}

// SetIdentity makes this node answer as a member of a cluster before it serves.
func (f *Founding) SetIdentity(i Identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current, f.server, f.groups, f.final = i, i.Server, i.Groups, true
}
