package raftstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// makeOffer decides whether this node founds a cluster now. If so it returns the identity to offer, and the other
// voters.
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

// adoptGroups adopts the groups of a founder that insists on its own, unless this node insists on its own too.
// REQUIRES: mu is held.
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

// identity returns the identity of a first voter of a cluster. REQUIRES: mu is held.
func (f *founding) identity(cluster string, voters []voter) identity {
	return identity{Cluster: cluster, Node: f.s.c.NodeID, Server: f.server, Groups: f.groups, Voters: voters}
}

func sorted(groups []uint16) []uint16 { return slices.Sorted(slices.Values(groups)) }

// sendOffer sends an offer to the other voters. If not all agree it is withdrawn; those that agreed see that when they
// ask.
func (f *founding) found(ctx context.Context, i identity, others []voter) (identity, bool, error) {
	f.mu.Lock()
	q := f.hello()
	f.mu.Unlock()
	q.Op, q.Cluster, q.Voters = "found", i.Cluster, i.Voters
	for _, v := range others {
		if _, err := f.s.ask(ctx, v.Address, q); err != nil {
			f.s.c.Logger.Warn("founding_refused", slog.String("node", nodeOf(v.Server)), slog.Any("err", err))
			f.mu.Lock()
			f.mine = identity{}
			delete(f.strangers, nodeOf(v.Server)) // It sends a hello when it is ready.
			f.mu.Unlock()
			return i, false, nil
		}
	}
	i.Pending = false
	return i, true, f.settle(i)
}

// finalize writes the identity of a cluster that exists.
func (f *founding) settle(i identity) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := writeIdentity(&f.s.c, i); err != nil {
		return err
	}
	f.mine, f.settled = i, true
	return nil
}

// confirm asks the other voters what became of the offer that this node agreed to.
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
	f.s.c.Logger.Warn("founding_withdrawn", slog.String("founder", nodeOf(founder.Server)))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := dropIdentity(&f.s.c); err != nil {
		return i, false, err
	}
	f.mine, f.server = identity{}, newIncarnation(f.s.c.NodeID)
	return identity{}, false, nil
}

// acceptOffer writes an offer and agrees to it, or returns why it does not. REQUIRES: mu is held.
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

var errBusy = errors.New("this node is busy with another cluster")
