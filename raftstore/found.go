package raftstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// meetPause is how long a node without a cluster waits before it asks again, up to twice as long.
	meetPause = 200 * time.Millisecond
	// strangerLife is how long a node is counted among the empty ones after it was last heard of.
	strangerLife = 5 * time.Second
	// strangersMax bounds the nodes without a cluster that are remembered. BOUND: anybody may say hello.
	strangersMax = 64
	// complainPause is the least time between two complaints about the same.
	complainPause = 10 * time.Second
)

// founding is how nodes with empty directories find their cluster, or become one.
//
// A node asks its seeds, and whom those know, who they are. If somebody is a member of a cluster, the node joins it.
// Otherwise the Expect nodes with the lowest ids among all that are empty, agree in Expect and have the same groups, or take
// any, found one: the lowest of them is the founder. It draws a cluster id and offers it to the others; each writes the offer to its
// disk, marked as pending, before it agrees. When all have, the founder writes it too, unmarked, and the cluster exists.
// The others ask until one of the voters says so, take the mark off, and only then vote. So nobody votes before all have
// written it down, and all give their groups the same first configuration.
//
// An offer is dead when the founder says that it does not make it (any more), or has become another incarnation: who holds
// a pending one then forgets it and begins anew under a new incarnation. That is safe, because it never voted under the
// old one. While the founder is silent and no voter knows of the cluster, a pending node waits.
//
// INVARIANT: every decision (to offer, to agree, to join) is made under mu, where hello is answered too: of two nodes that
// want to found at once, at least one has heard of the other.
type founding struct {
	s *Store

	mu        sync.Mutex
	server    raft.ServerID       // The incarnation that this node will be.
	strangers map[string]stranger // By node: empty ones, heard of lately.
	rumours   []string            // Addresses that others told of in their last answers. BOUND: askedMax are asked.
	mine      identity            // What this node offers, agreed to, or became. Cluster empty: nothing yet.
	settled   bool                // mine is final.
	groups    []uint16            // Sorted; Config.Groups, until others are taken.
	misfit    error               // Another node that wants to found has other groups, and one of the two is wrong.
	misfitAt  time.Time
	complain  time.Time
}

// stranger is another node without a cluster.
type stranger struct {
	voter
	expect int
	groups []uint16
	any    bool // It takes other groups, too.
	heard  time.Time
}

func newFounding(s *Store) *founding {
	return &founding{s: s, server: newIncarnation(s.c.NodeID), strangers: map[string]stranger{}, groups: sorted(s.c.Groups)}
}

// groupIDs are the groups that this node has, or proposes.
func (s *Store) groupIDs() []uint16 {
	s.founding.mu.Lock()
	defer s.founding.mu.Unlock()
	return s.founding.groups
}

// meet finds or founds the cluster of a directory that is empty, or holds a pending identity.
func (f *founding) meet(ctx context.Context, pending identity) (identity, error) {
	f.mu.Lock()
	f.mine = pending
	if pending.Cluster != "" {
		f.server, f.groups = pending.Server, pending.Groups
	}
	f.mu.Unlock()
	f.s.mux.Start()
	for {
		if i, done, err := f.step(ctx); done || err != nil {
			return i, err
		}
		timer := time.NewTimer(meetPause + rand.N(meetPause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return identity{}, fmt.Errorf("no cluster yet: %w", ctx.Err())
		}
	}
}

// step asks everybody once and does what follows from it.
func (f *founding) step(ctx context.Context) (i identity, done bool, err error) {
	f.mu.Lock()
	mine, hello := f.mine, f.hello()
	f.mu.Unlock()
	if mine.Pending {
		return f.confirm(ctx, mine)
	}
	asked := f.addresses(ctx)
	answers := f.s.askAll(ctx, asked, hello)
	for _, a := range answers {
		if a.Cluster != "" && !a.Pending {
			return f.enter(ctx, a)
		}
		if !a.Pending {
			f.fit(a.Node, a.Address, stranger{expect: a.Expect, groups: a.Groups, any: a.AnyGroups})
		}
	}
	f.mu.Lock()
	if f.misfit != nil { // It goes on to ask for a moment, so that nodes that start a little later hear of it, too.
		defer f.mu.Unlock()
		if time.Since(f.misfitAt) < strangerLife {
			return i, false, nil
		}
		return i, false, f.misfit
	}
	f.rumours = nil
	for _, a := range answers {
		f.rumours = append(f.rumours, a.Others[:min(len(a.Others), strangersMax)]...)
	}
	f.mu.Unlock()
	for _, a := range answers {
		f.note(a.Node, stranger{voter: voter{a.Server, a.Address}, expect: a.Expect, groups: a.Groups, any: a.AnyGroups}, a.Pending)
	}
	offer, others := f.offer()
	if offer.Cluster == "" {
		return i, false, nil
	}
	return f.found(ctx, offer, others)
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

// offer decides whether this node founds a cluster now. Then it returns the identity to write, and the other voters.
func (f *founding) offer() (i identity, others []voter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &f.s.c
	if c.Expect == 0 || f.mine.Cluster != "" {
		return i, nil
	}
	maps.DeleteFunc(f.strangers, func(_ string, s stranger) bool { return time.Since(s.heard) > strangerLife })
	f.yield()
	voters := []voter{{f.server, string(f.s.address)}}
	for _, s := range f.strangers {
		if s.expect == c.Expect && (s.any || slices.Equal(sorted(s.groups), f.groups)) {
			voters = append(voters, s.voter)
		}
	}
	slices.SortFunc(voters, func(a, b voter) int { return strings.Compare(nodeOf(a.Server), nodeOf(b.Server)) })
	if len(voters) < c.Expect || voters[0].Server != f.server {
		return i, nil
	}
	voters = voters[:c.Expect]
	f.mine = f.identity(clusterText(newCluster()), voters)
	f.mine.Pending = true
	return f.mine, voters[1:]
}

// yield takes the groups of a founder that insists on its own, if this node does not. REQUIRES: mu is held.
func (f *founding) yield() {
	if !f.s.c.AnyGroups {
		return
	}
	f.groups = sorted(f.s.c.Groups)
	for _, node := range slices.Sorted(maps.Keys(f.strangers)) {
		if s := f.strangers[node]; !s.any && s.expect == f.s.c.Expect {
			f.groups = sorted(s.groups)
			return
		}
	}
}

// identity is what a founder of a cluster becomes. REQUIRES: mu is held.
func (f *founding) identity(cluster string, voters []voter) identity {
	return identity{Cluster: cluster, Node: f.s.c.NodeID, Server: f.server, Groups: f.groups, Voters: voters}
}

func sorted(groups []uint16) []uint16 { return slices.Sorted(slices.Values(groups)) }

// found makes an offer to the other voters. If not all agree it is withdrawn; who agreed hears so when it asks.
func (f *founding) found(ctx context.Context, i identity, others []voter) (identity, bool, error) {
	f.mu.Lock()
	q := f.hello()
	f.mu.Unlock()
	q.Op, q.Cluster, q.Voters = "found", i.Cluster, i.Voters
	for _, v := range others {
		if _, err := f.s.ask(ctx, v.Address, q); err != nil {
			f.s.c.Logger.Warn("a node does not found the cluster", slog.String("node", nodeOf(v.Server)), slog.Any("err", err))
			f.mu.Lock()
			f.mine = identity{}
			delete(f.strangers, nodeOf(v.Server)) // It says hello when it is there.
			f.mu.Unlock()
			return i, false, nil
		}
	}
	i.Pending = false
	return i, true, f.settle(i)
}

// settle writes the final identity.
func (f *founding) settle(i identity) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := writeIdentity(&f.s.c, i); err != nil {
		return err
	}
	f.mine, f.settled = i, true
	return nil
}

// belong makes this node answer as one that has a cluster, before it serves.
func (f *founding) belong(i identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mine, f.server, f.groups, f.settled = i, i.Server, i.Groups, true
}

// confirm finds out what became of the offer that this node agreed to.
func (f *founding) confirm(ctx context.Context, i identity) (identity, bool, error) {
	founder := i.Voters[0]
	addresses := []string{}
	for _, v := range i.Voters {
		addresses = append(addresses, v.Address)
	}
	f.mu.Lock()
	hello := f.hello()
	f.mu.Unlock()
	dead := false
	for _, a := range f.s.askAll(ctx, f.s.others(addresses), hello) {
		if a.Cluster == i.Cluster && !a.Pending {
			i.Pending = false
			return i, true, f.settle(i)
		}
		dead = dead || a.Address == founder.Address && (a.Cluster != i.Cluster || a.Server != founder.Server)
	}
	if !dead {
		return i, false, nil
	}
	f.s.c.Logger.Warn("the founder withdrew the cluster", slog.String("founder", nodeOf(founder.Server)))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := dropIdentity(&f.s.c); err != nil {
		return i, false, err
	}
	f.mine, f.server = identity{}, newIncarnation(f.s.c.NodeID)
	return identity{}, false, nil
}

// enter makes the directory one of the cluster that a member told of, unless that member knows a reason against it.
func (f *founding) enter(ctx context.Context, a answer) (i identity, done bool, err error) {
	if !f.s.c.AnyGroups && !slices.Equal(sorted(a.Groups), sorted(f.s.c.Groups)) {
		return i, false, fmt.Errorf("%w: the cluster at %s has %d groups, this node is set to %d; give it the same number",
			ErrForeign, a.Address, len(a.Groups), len(f.s.c.Groups))
	}
	f.mu.Lock()
	q := f.hello()
	if f.mine.Cluster != "" {
		f.mu.Unlock()
		return i, false, nil // An offer came in between.
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
			f.s.c.Logger.Warn("the cluster does not take this node yet", slog.Any("err", err))
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

var errBusy = errors.New("this node is busy with another cluster")

// answer is what a node says that does not serve yet.
func (f *founding) answer(q question) answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := answer{Expect: f.s.c.Expect, AnyGroups: f.s.c.AnyGroups}
	var err error
	switch q.Op {
	case "hello":
		if q.Node != "" && q.Run != f.s.run {
			other := stranger{voter: voter{q.Server, q.Address}, expect: q.Expect, groups: q.Groups, any: q.AnyGroups}
			f.noteLocked(q.Node, other, q.Cluster != "")
			if q.Cluster == "" && f.mine.Cluster == "" {
				f.fitLocked(q.Node, q.Address, other)
			}
		}
	case "found":
		err = f.consider(q)
	default:
		err = errBusy
		if f.mine.Cluster == "" {
			err = ErrNoCluster
		}
	}
	if err != nil {
		a.Refused = err.Error()
	}
	for _, s := range f.strangers {
		if time.Since(s.heard) < strangerLife {
			a.Others = append(a.Others, s.Address)
		}
	}
	a.Server, a.Cluster, a.Pending = f.server, f.mine.Cluster, f.mine.Cluster != "" && !f.settled
	return a
}

// consider agrees to an offer, or says why not. REQUIRES: mu is held.
func (f *founding) consider(q question) error {
	me := voter{f.server, string(f.s.address)}
	switch {
	case f.mine.Cluster == q.Cluster && f.mine.Cluster != "":
		return nil
	case f.mine.Cluster != "":
		return errBusy
	case q.Cluster == "" || len(q.Voters) != f.s.c.Expect || q.Expect != f.s.c.Expect:
		return fmt.Errorf("this node expects %d nodes", f.s.c.Expect)
	case f.misfit != nil:
		return f.misfit
	case !f.s.c.AnyGroups && !slices.Equal(sorted(q.Groups), f.groups):
		return fmt.Errorf("this node has groups %v", f.groups)
	case !slices.Contains(q.Voters, me) || q.Voters[0].Server != q.Server:
		return errors.New("the offer names another incarnation of this node, or another founder")
	}
	f.groups = sorted(q.Groups)
	i := f.identity(q.Cluster, q.Voters)
	i.Pending = true
	if err := writeIdentity(&f.s.c, i); err != nil {
		return err
	}
	f.mine = i
	return nil
}
