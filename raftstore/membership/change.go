package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/control"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// VotersMax bounds the voters of a group. BOUND: each further one makes every commit slower; further nodes are
	// learners.
	VotersMax = 5

	changeTimeout = 4 * time.Second // Bounds one step of a change.
)

var errVotersFull = errors.New("the group has all the voters it may have")

// change is a change of members or leader that a leader can make. REQUIRES of makeIn: this node leads, and changeSlot
// is held.
type change interface {
	makeIn(g *Group, by control.Peer) error
}

// answerChange returns the function that answers requests for one kind of change.
func answerChange[C change](m *Members) func(context.Context, control.Peer, request[C]) (leaderHint, error) {
	return func(ctx context.Context, from control.Peer, q request[C]) (leaderHint, error) {
		if err := m.Serving(); err != nil {
			return leaderHint{}, err
		}
		return m.change(ctx, q.Group, q.Change, from)
	}
}

// change makes a change in a group if this node leads it; otherwise it returns the leader's address and
// proposal.ErrNotLeader. ctx bounds the wait for other changes; a change that has begun is finished.
func (m *Members) change(ctx context.Context, group uint16, c change, by control.Peer) (leaderHint, error) {
	g := m.groups[group]
	if g == nil {
		return leaderHint{}, refuse("there is no group %d", group)
	}
	if !g.Lead.Ready() {
		return leaderHint{g.Lead.Address()}, proposal.ErrNotLeader
	}
	select {
	case m.changeSlot <- struct{}{}:
	case <-ctx.Done():
		return leaderHint{}, fmt.Errorf("another change of members is under way: %w", ctx.Err())
	}
	defer func() { <-m.changeSlot }()
	return leaderHint{}, g.Lead.Call(func() error { return c.makeIn(g, by) })
}

// makeIn makes an incarnation of a node a learner, or changes the node's address in the configuration. Another
// incarnation of it, whose directory is lost, is removed first: it will never vote again, and would count as a voter
// for ever.
func (a applicant) makeIn(g *Group, by control.Peer) error {
	if a.Server == "" || transport.NodeOf(a.Server) != a.Node || a.Address == "" {
		return refuse("%q at %q is no incarnation of %q", a.Server, a.Address, a.Node)
	}
	if err := g.mayJoin(a, by, true); err != nil {
		return err
	}
	for _, known := range incarnations(g.servers(), a.Node) {
		switch {
		case known.ID != a.Server:
			if err := g.removeServer(known); err != nil {
				return err
			}
		case known.Address == raft.ServerAddress(a.Address):
			return nil
		case known.Suffrage == raft.Voter:
			return g.setAddress(a, g.Raft.AddVoter)
		}
	}
	return g.setAddress(a, g.Raft.AddNonvoter)
}

// setAddress adds a server, or changes its address; see transport.Safe.WithoutPipelines.
func (g *Group) setAddress(a applicant, add func(raft.ServerID, raft.ServerAddress, uint64, time.Duration) raft.IndexFuture) error {
	ctx, cancel := context.WithTimeout(g.members.ctx, changeTimeout)
	defer cancel()
	var f raft.IndexFuture
	err := g.Transport.WithoutPipelines(ctx, a.Server, func() error {
		f = add(a.Server, raft.ServerAddress(a.Address), 0, changeTimeout)
		return f.Error()
	})
	if err != nil {
		return err
	}
	return g.finishChange(f)
}

// mayJoin returns why a node may not join: it was removed, it runs at another address (ErrNodeInUse), or
// State.CheckJoin refuses it. When nobody answers at the known address, the process there counts as ended: if it still
// runs it is cut off, and Raft decides what it is told. by is the process that asks. With joining, the address of the
// incarnation itself is not asked: that was done when the node started.
func (g *Group) mayJoin(a applicant, by control.Peer, joining bool) error {
	if g.State.IsRemoved(a.Node) {
		return refuse("%s was removed from the cluster; admit it first", a.Node)
	}
	for _, known := range incarnations(g.servers(), a.Node) {
		if joining && known.ID == a.Server && known.Address == raft.ServerAddress(a.Address) {
			continue
		}
		ctx, cancel := context.WithTimeout(g.members.ctx, SeedTimeout)
		answered, process, err := sayHello.Ask(ctx, g.members.peers.port, string(known.Address), g.members.hello())
		cancel()
		if err == nil && answered.Server == known.ID && process.Process != by.Process {
			return refuseDuplicate(a.Node, string(known.Address))
		}
	}
	if err := g.State.CheckJoin(a.NodeInfo); err != nil {
		return fmt.Errorf("%s cannot be a member: %w", a.Node, err)
	}
	return nil
}

// answerWelcome returns why a node that is starting could not join, as far as this member knows.
func (m *Members) answerWelcome(_ context.Context, from control.Peer, a applicant) (nothing, error) {
	if err := m.Serving(); err != nil {
		return nothing{}, err
	}
	for _, id := range m.order {
		if err := m.groups[id].mayJoin(a, from, false); err != nil {
			return nothing{}, err
		}
	}
	return nothing{}, nil
}

// makeIn lets a node that was removed come back.
func (a admission) makeIn(g *Group, _ control.Peer) error { return g.setRemoved(a.Node, false) }

// makeIn makes a learner a voter.
func (p promotion) makeIn(g *Group, _ control.Peer) error {
	servers := g.servers()
	found := incarnations(servers, p.Node)
	switch {
	case len(found) == 0:
		return refuse("%s is no member", p.Node)
	case found[0].Suffrage == raft.Voter:
		return nil
	case Voters(servers) >= VotersMax:
		return refuse("%w: %d", errVotersFull, VotersMax)
	}
	return g.finishChange(g.Raft.AddVoter(found[0].ID, found[0].Address, 0, changeTimeout))
}

// makeIn removes a node from the group and records in the replicated state that it must stay away. A leader that is
// asked to remove itself transfers the leadership first, and its successor does it.
func (r removal) makeIn(g *Group, _ control.Peer) error {
	found := incarnations(g.servers(), r.Node)
	for _, s := range found {
		if s.Suffrage == raft.Voter && Voters(g.servers()) == 1 {
			return refuse("the only voter cannot be removed")
		}
		if s.ID == g.members.identity.Server {
			return errors.Join(g.Lead.TransferAway(), proposal.ErrNotLeader)
		}
	}
	if err := g.setRemoved(r.Node, true); err != nil {
		return err
	}
	for _, s := range found {
		if err := g.removeServer(s); err != nil {
			return err
		}
	}
	return nil
}

// removeServer removes a server from the configuration, a voter in two steps.
func (g *Group) removeServer(s raft.Server) error {
	if s.Suffrage == raft.Voter {
		if Voters(g.servers()) == 1 {
			return refuse("the only voter cannot be removed")
		}
		if err := g.finishChange(g.Raft.DemoteVoter(s.ID, 0, changeTimeout)); err != nil {
			return err
		}
	}
	return g.finishChange(g.Raft.RemoveServer(s.ID, 0, changeTimeout))
}

// makeIn gives the leadership of the group to a voter.
func (t transfer) makeIn(g *Group, _ control.Peer) error {
	found := incarnations(g.servers(), t.Node)
	if len(found) == 0 || found[0].Suffrage != raft.Voter {
		return refuse("%s is no voter", t.Node)
	}
	if found[0].ID == g.members.identity.Server {
		return nil // This node leads.
	}
	return g.Lead.TransferTo(found[0])
}

// finishChange waits for a change of members and appends a command that changes nothing: without it Raft takes no
// snapshot on an idle group whose last entry is a configuration (hashicorp/raft#617).
func (g *Group) finishChange(f raft.IndexFuture) error {
	if err := f.Error(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(g.members.ctx, changeTimeout)
	defer cancel()
	return g.State.AppendNoop(ctx)
}
