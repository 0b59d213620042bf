package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

// makeOffer decides whether this node founds a cluster now. If so it returns the identity to offer, and the other
// voters.
func (f *Founding) makeOffer() (i Identity, others []Voter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.peers.c
	if c.Expect == 0 || f.current.Cluster != "" {
		return i, nil
	}
	maps.DeleteFunc(f.unclustered, func(_ string, s unclusteredPeer) bool { return time.Since(s.lastSeen) > unclusteredTTL })
	f.adoptGroups()
	voters := []Voter{{f.server, f.peers.address}}
	for _, s := range f.unclustered {
		if s.expect == c.Expect && (s.anyGroups || slices.Equal(sorted(s.groups), f.groups)) {
			voters = append(voters, s.Voter)
		}
	}
	slices.SortFunc(voters, func(a, b Voter) int { return strings.Compare(transport.NodeOf(a.Server), transport.NodeOf(b.Server)) })
	if len(voters) < c.Expect || voters[0].Server != f.server {
		return i, nil
	}
	voters = voters[:c.Expect]
	f.current = f.identity(ClusterText(NewCluster()), voters)
	f.current.Pending = true
	return f.current, voters[1:]
}

// adoptGroups adopts the groups of a founder that insists on its own, unless this node insists on its own too.
// REQUIRES: mu is held.
func (f *Founding) adoptGroups() {
	if !f.peers.c.AnyGroups {
		return
	}
	f.groups = sorted(f.peers.c.Groups)
	for _, node := range slices.Sorted(maps.Keys(f.unclustered)) {
		if s := f.unclustered[node]; !s.anyGroups && s.expect == f.peers.c.Expect {
			f.groups = sorted(s.groups)
			return
		}
	}
}

// identity returns the identity of a first voter of a cluster. REQUIRES: mu is held.
func (f *Founding) identity(cluster string, voters []Voter) Identity {
	return Identity{Cluster: cluster, Node: f.peers.c.Node, Server: f.server, Groups: f.groups, Voters: voters}
}

func sorted(groups []uint16) []uint16 { return slices.Sorted(slices.Values(groups)) }

// sendOffer sends an offer to the other voters. If not all agree it is withdrawn; those that agreed see that when they
// ask.
func (f *Founding) sendOffer(ctx context.Context, i Identity, others []Voter) (Identity, bool, error) {
	f.mu.Lock()
	q := offer{hello: f.hello(), Voters: i.Voters}
	f.mu.Unlock()
	q.Cluster = i.Cluster
	for _, v := range others {
		if _, _, err := found.Ask(ctx, f.peers.port, v.Address, q); err != nil {
			f.peers.c.Logger.Warn("founding_refused", slog.String("node", transport.NodeOf(v.Server)), slog.Any("err", err))
			f.mu.Lock()
			f.current = Identity{}
			delete(f.unclustered, transport.NodeOf(v.Server)) // It sends a hello when it is ready.
			f.mu.Unlock()
			return i, false, nil
		}
	}
	i.Pending = false
	return i, true, f.finalize(i)
}

// finalize writes the identity of a cluster that exists.
func (f *Founding) finalize(i Identity) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := i.Write(f.peers.c.FS, f.peers.c.Dir); err != nil {
		return err
	}
	f.current, f.final = i, true
	return nil
}

// confirm asks the other voters what became of the offer that this node agreed to.
func (f *Founding) confirm(ctx context.Context, i Identity) (Identity, bool, error) {
	founder := i.Voters[0]
	addresses := []string{}
	for _, v := range i.Voters {
		addresses = append(addresses, v.Address)
	}
	f.mu.Lock()
	me := f.hello()
	f.mu.Unlock()
	dead := false
	for _, a := range f.peers.helloAll(ctx, f.peers.others(addresses), me) {
		if a.Cluster == i.Cluster && !a.Pending {
			i.Pending = false
			return i, true, f.finalize(i)
		}
		dead = dead || a.Address == founder.Address && (a.Cluster != i.Cluster || a.Server != founder.Server)
	}
	if !dead {
		return i, false, nil
	}
	f.peers.c.Logger.Warn("founding_withdrawn", slog.String("founder", transport.NodeOf(founder.Server)))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := dropIdentity(f.peers.c); err != nil {
		return i, false, err
	}
	f.current, f.server = Identity{}, transport.NewIncarnation(f.peers.c.Node)
	return Identity{}, false, nil
}

// acceptOffer writes an offer and agrees to it, or returns why it does not. REQUIRES: mu is held.
func (f *Founding) acceptOffer(q offer) error {
	me := Voter{f.server, f.peers.address}
	switch {
	case f.current.Cluster == q.Cluster && f.current.Cluster != "":
		return nil
	case f.current.Cluster != "":
		return errBusy
	case q.Cluster == "" || len(q.Voters) != f.peers.c.Expect || q.Expect != f.peers.c.Expect:
		return fmt.Errorf("this node expects %d nodes", f.peers.c.Expect)
	case f.groupConflict != nil:
		return f.groupConflict
	case !f.peers.c.AnyGroups && !slices.Equal(sorted(q.Groups), f.groups):
		return fmt.Errorf("this node has groups %v", f.groups)
	case !slices.Contains(q.Voters, me) || q.Voters[0].Server != q.Server:
		return errors.New("the offer names another incarnation of this node, or another founder")
	}
	f.groups = sorted(q.Groups)
	i := f.identity(q.Cluster, q.Voters)
	i.Pending = true
	if err := i.Write(f.peers.c.FS, f.peers.c.Dir); err != nil {
		return err
	}
	f.current = i
	return nil
}

var errBusy = errors.New("this node is busy with another cluster")
