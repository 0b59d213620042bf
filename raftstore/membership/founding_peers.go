package membership

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/raftstore/pebblelog"
)

// unclusteredPeer is another node without a cluster.
type unclusteredPeer struct {
	Voter
	expect    int
	groups    []uint16
	anyGroups bool // It accepts other groups than its own.
	lastSeen  time.Time
}

// checkGroups records a conflict when another node that wants to found a cluster insists on other groups than this one.
// All nodes should have the same command line, so one of them is wrong and waiting would not help. It is called for
// nodes that answer and for nodes that ask, so that both sides see it.
func (f *Founding) checkGroups(node, address string, other unclusteredPeer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checkGroupsLocked(node, address, other)
}

func (f *Founding) checkGroupsLocked(node, address string, other unclusteredPeer) {
	c := f.peers.c
	if other.expect == 0 || c.Expect == 0 || other.anyGroups || c.AnyGroups || node == c.Node || slices.Equal(sorted(other.groups), f.groups) {
		return
	}
	if f.groupConflict == nil {
		f.groupConflictAt = time.Now()
	}
	f.groupConflict = fmt.Errorf("%w: %s at %s wants to found a cluster of %d groups, this node one of %d; give all nodes the same number",
		pebblelog.ErrForeign, node, address, len(other.groups), len(f.groups))
}

// hello returns what introduces this node to another one. REQUIRES: mu is held.
func (f *Founding) hello() hello {
	c := f.peers.c
	return hello{
		Server: f.server, Address: f.peers.address, Cluster: f.current.Cluster, Expect: c.Expect, Groups: f.groups, AnyGroups: c.AnyGroups,
	}
}

// addresses returns the seeds and the addresses of the known nodes without a cluster.
func (f *Founding) addresses(ctx context.Context) []string {
	all := f.peers.seeds(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	all = append(all, f.learnedAddrs...)
	for _, s := range f.unclustered {
		all = append(all, s.Address)
	}
	return f.peers.others(all)
}

// recordPeer remembers a node without a cluster, or forgets one that is about to have one.
func (f *Founding) recordPeer(node string, s unclusteredPeer, taken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recordPeerLocked(node, s, taken)
}

func (f *Founding) recordPeerLocked(node string, s unclusteredPeer, taken bool) {
	if node == f.peers.c.Node {
		if f.mayLog() {
			f.peers.c.Logger.Error("node_id_conflict", slog.String("node", node), slog.String("address", s.Address))
		}
		return
	}
	if taken {
		delete(f.unclustered, node)
		return
	}
	if _, known := f.unclustered[node]; !known && len(f.unclustered) >= unclusteredMax {
		return
	}
	s.lastSeen = time.Now()
	f.unclustered[node] = s
}

// mayLog returns true at most once in foundingLogPause. REQUIRES: mu is held.
func (f *Founding) mayLog() bool {
	if time.Since(f.loggedAt) < foundingLogPause {
		return false
	}
	f.loggedAt = time.Now()
	return true
}
