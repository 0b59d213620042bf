package membership

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/control"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// discoverPause is how long a node without a cluster waits before it asks again; the pause is up to twice as long.
	discoverPause = 200 * time.Millisecond
	// unclusteredTTL is how long another node without a cluster is counted after its last message.
	unclusteredTTL = 5 * time.Second
	// unclusteredMax bounds the nodes without a cluster that are remembered. BOUND: any process may send a hello.
	unclusteredMax = 64
	// foundingLogPause is the least time between two log lines about the same trouble.
	foundingLogPause = 10 * time.Second
)

// Founding finds or founds the cluster of a node with an empty directory.
//
// A node asks its seeds, and the nodes that those know, who they are. If one of them is a member of a cluster, the node
// joins it. Otherwise the Expect nodes with the lowest ids among all that have empty directories, agree in Expect and
// have the same groups (or accept any) found a cluster; the lowest of them is the founder. It draws a cluster id and
// offers it to the others. Each writes the offer to its disk, marked as pending, before it agrees. When all have
// agreed, the founder writes it too, unmarked, and the cluster exists. The others ask until one of the voters confirms
// that, remove the mark, and only then vote. So nobody votes before all have written it, and all give their groups the
// same first configuration.
//
// An offer is void when the founder answers that it does not make it (any more), or when the founder has become another
// incarnation. A node that holds a pending void offer deletes it and begins again as a new incarnation. That is safe,
// because it never voted as the old one. While the founder is silent and no voter knows of the cluster, a pending node
// waits.
//
// INVARIANT: every decision (to offer, to agree, to join) is made under mu, under which hello is answered too: of two
// nodes that want to found at the same time, at least one knows of the other.
type Founding struct {
	peers *Peers
	start func() // Makes the peer port accept connections.

	mu              sync.Mutex
	server          raft.ServerID              // The incarnation that this node will have.
	unclustered     map[string]unclusteredPeer // By node id: nodes with empty directories that sent a message lately.
	learnedAddrs    []string                   // Addresses in the last answers of other nodes. BOUND: askedMax of them are asked.
	current         Identity                   // What this node offers, agreed to, or became; its Cluster is empty before that.
	final           bool                       // The cluster of the current identity exists.
	groups          []uint16                   // Sorted; Config.Groups, until those of others are adopted.
	groupConflict   error                      // Another node that wants to found has other groups; one of the two is configured wrongly.
	groupConflictAt time.Time
	loggedAt        time.Time
}

// NewFounding returns the founding of a node and answers the hellos and the offers of others. start makes the peer port
// accept connections.
func NewFounding(p *Peers, start func()) *Founding {
	f := &Founding{
		peers: p, start: start, server: transport.NewIncarnation(p.c.Node), unclustered: map[string]unclusteredPeer{}, groups: sorted(p.c.Groups),
	}
	sayHello.Handle(p.port, control.Anyone, f.greet)
	found.Handle(p.port, control.Anyone, func(_ context.Context, _ control.Peer, o offer) (nothing, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return nothing{}, f.acceptOffer(o)
	})
	return f
}

// Discover finds or founds the cluster of a directory that is empty, or holds a pending identity. It returns when that
// is done, when ctx ends, or with pebblelog.ErrForeign or ErrNodeInUse.
func (f *Founding) Discover(ctx context.Context, pending Identity) (Identity, error) {
	f.mu.Lock()
	f.current = pending
	if pending.Cluster != "" {
		f.server, f.groups = pending.Server, pending.Groups
	}
	f.mu.Unlock()
	f.start()
	for {
		if i, done, err := f.discoverOnce(ctx); done || err != nil {
			return i, err
		}
		timer := time.NewTimer(discoverPause + rand.N(discoverPause)) //nolint:gosec // jitter, no secret.
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Identity{}, fmt.Errorf("no cluster yet: %w", ctx.Err())
		}
	}
}

// discoverOnce asks every known node once and acts on the answers.
func (f *Founding) discoverOnce(ctx context.Context) (i Identity, done bool, err error) {
	f.mu.Lock()
	mine, me := f.current, f.hello()
	f.mu.Unlock()
	if mine.Pending {
		return f.confirm(ctx, mine)
	}
	asked := f.addresses(ctx)
	answers := f.peers.helloAll(ctx, asked, me)
	for _, a := range answers {
		if a.Cluster != "" && !a.Pending {
			return f.joinCluster(ctx, a)
		}
		if !a.Pending {
			f.checkGroups(a.Node, a.Address, unclusteredPeer{expect: a.Expect, groups: a.Groups, anyGroups: a.AnyGroups})
		}
	}
	f.mu.Lock()
	if f.groupConflict != nil { // It goes on asking for unclusteredTTL, so that nodes that start a little later see the conflict, too.
		defer f.mu.Unlock()
		if time.Since(f.groupConflictAt) < unclusteredTTL {
			return i, false, nil
		}
		return i, false, f.groupConflict
	}
	f.learnedAddrs = nil
	for _, a := range answers {
		f.learnedAddrs = append(f.learnedAddrs, a.Others[:min(len(a.Others), unclusteredMax)]...)
	}
	f.mu.Unlock()
	for _, a := range answers {
		f.recordPeer(a.Node, unclusteredPeer{Voter: Voter{a.Server, a.Address}, expect: a.Expect, groups: a.Groups, anyGroups: a.AnyGroups}, a.Pending)
	}
	offer, others := f.makeOffer()
	if offer.Cluster == "" {
		return i, false, nil
	}
	return f.sendOffer(ctx, offer, others)
}

// greet answers a hello. A node without a cluster remembers the other one.
func (f *Founding) greet(_ context.Context, from control.Peer, q hello) (greeting, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.final && from.Node != "" && from.Process != f.peers.self.Process {
		other := unclusteredPeer{Voter: Voter{q.Server, q.Address}, expect: q.Expect, groups: q.Groups, anyGroups: q.AnyGroups}
		f.recordPeerLocked(from.Node, other, q.Cluster != "")
		if q.Cluster == "" && f.current.Cluster == "" {
			f.checkGroupsLocked(from.Node, q.Address, other)
		}
	}
	a := greeting{hello: f.hello(), Pending: f.current.Cluster != "" && !f.final}
	for _, s := range f.unclustered {
		if time.Since(s.lastSeen) < unclusteredTTL {
			a.Others = append(a.Others, s.Address)
		}
	}
	return a, nil
}

// notServing is the answer to all other questions before this node serves.
func (f *Founding) notServing() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current.Cluster == "" {
		return ErrNoCluster
	}
	return errBusy
}
