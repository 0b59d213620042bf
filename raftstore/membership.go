package raftstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// VotersMax bounds the voters of a group. BOUND: each further one makes every commit slower; further nodes are
	// learners.
	VotersMax = 5

	changeTimeout = 4 * time.Second // Bounds one step of a change.
	// askTimeout bounds the search for a leader that makes a change, for each group.
	askTimeout = 15 * time.Second
	askPause   = 200 * time.Millisecond
)

var errVotersFull = errors.New("the group has all the voters it may have")

// changeMembership makes a change of members of a group if this node leads it; otherwise it returns the leader's
// address and ErrNotLeader. ctx bounds the wait for other changes; a change that has begun is finished.
func (s *Store) changeMembership(ctx context.Context, q question) (leader string, err error) {
	g := s.groups[q.Group]
	if g == nil {
		return "", refuse("there is no group %d", q.Group)
	}
	if !g.Ready() {
		address, _ := g.raft.LeaderWithID()
		return string(address), ErrNotLeader
	}
	select {
	case s.changeSlot <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("another change of members is under way: %w", ctx.Err())
	}
	defer func() { <-s.changeSlot }()
	return "", g.lead.Call(func() error { return g.changeMembers(q) })
}

// changeMembers makes one change of members or leader. REQUIRES: this node leads, and changeSlot is held.
func (g *Group) changeMembers(q question) error {
	switch q.Op {
	case "join":
		return g.addLearner(q)
	case "admit":
		return g.setRemoved(q.Subject, false)
	case "promote":
		return g.promote(q)
	case "remove":
		return g.remove(q.Subject)
	case "transfer":
		return g.transferToNode(q.Subject)
	}
	return refuse("unknown operation %q", q.Op)
}

// addLearner makes an incarnation of a node a learner, or changes the node's address in the configuration. Another
// incarnation of it, whose directory is lost, is removed first: it will never vote again, and would count as a voter
// for ever.
func (g *Group) addLearner(q question) error {
	if q.Server == "" || transport.NodeOf(q.Server) != q.Subject || q.Address == "" {
		return refuse("%q at %q is no incarnation of %q", q.Server, q.Address, q.Subject)
	}
	if err := g.mayJoin(q); err != nil {
		return err
	}
	for _, known := range incarnations(g.servers(), q.Subject) {
		switch {
		case known.ID != q.Server:
			if err := g.removeServer(known); err != nil {
				return err
			}
		case known.Address == raft.ServerAddress(q.Address):
			return nil
		case known.Suffrage == raft.Voter:
			return g.finishChange(g.raft.AddVoter(q.Server, raft.ServerAddress(q.Address), 0, changeTimeout))
		}
	}
	return g.finishChange(g.raft.AddNonvoter(q.Server, raft.ServerAddress(q.Address), 0, changeTimeout))
}

// mayJoin returns why a node may not join: it was removed, it runs at another address (ErrNodeInUse), or
// Config.CheckJoin refuses it. When nobody answers at the known address, the process there counts as ended: if it still
// runs it is cut off, and Raft decides what it is told.
func (g *Group) mayJoin(q question) error {
	if g.isRemoved(q.Subject) {
		return refuse("%s was removed from the cluster; admit it first", q.Subject)
	}
	for _, known := range incarnations(g.servers(), q.Subject) {
		if known.ID == q.Server && known.Address == raft.ServerAddress(q.Address) && q.Op == "join" {
			continue // The address was asked when the node started.
		}
		ctx, cancel := context.WithTimeout(g.store.ctx, seedTimeout)
		a, err := g.store.ask(ctx, string(known.Address), question{Op: "hello"})
		cancel()
		if err == nil && a.Server == known.ID && a.ProcessID != q.ProcessID {
			return refuseDuplicate(q.Subject, string(known.Address))
		}
	}
	if admits := g.store.c.CheckJoin; admits != nil {
		if err := g.Read(func(r Reader) error { return admits(r, q.NodeInfo) }); err != nil {
			return fmt.Errorf("%s cannot be a member: %w", q.Subject, err)
		}
	}
	return nil
}

// checkJoin returns why a node that is starting could not join, as far as this member knows.
func (s *Store) checkJoin(q question) error {
	for _, id := range s.c.Groups {
		if err := s.groups[id].mayJoin(q); err != nil {
			return err
		}
	}
	return nil
}

// promote makes a learner a voter.
func (g *Group) promote(q question) error {
	servers := g.servers()
	found := incarnations(servers, q.Subject)
	switch {
	case len(found) == 0:
		return refuse("%s is no member", q.Subject)
	case found[0].Suffrage == raft.Voter:
		return nil
	case voters(servers) >= VotersMax:
		return refuse("%w: %d", errVotersFull, VotersMax)
	}
	return g.finishChange(g.raft.AddVoter(found[0].ID, found[0].Address, 0, changeTimeout))
}

// remove removes a node from the group and records in the replicated state that it must stay away. A leader that is
// asked to remove itself transfers the leadership first, and its successor does it.
func (g *Group) remove(node string) error {
	found := incarnations(g.servers(), node)
	for _, s := range found {
		if s.Suffrage == raft.Voter && voters(g.servers()) == 1 {
			return refuse("the only voter cannot be removed")
		}
		if s.ID == g.store.identity.Server {
			return errors.Join(g.lead.TransferAway(), ErrNotLeader)
		}
	}
	if err := g.setRemoved(node, true); err != nil {
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
		if voters(g.servers()) == 1 {
			return refuse("the only voter cannot be removed")
		}
		if err := g.finishChange(g.raft.DemoteVoter(s.ID, 0, changeTimeout)); err != nil {
			return err
		}
	}
	return g.finishChange(g.raft.RemoveServer(s.ID, 0, changeTimeout))
}

// transferToNode gives the leadership of the group to a voter.
func (g *Group) transferToNode(node string) error {
	found := incarnations(g.servers(), node)
	if len(found) == 0 || found[0].Suffrage != raft.Voter {
		return refuse("%s is no voter", node)
	}
	if found[0].ID == g.store.identity.Server {
		return nil // This node leads.
	}
	return g.lead.TransferTo(found[0])
}

// finishChange waits for a change of members and appends a no-op; see Config.Noop.
func (g *Group) finishChange(f raft.IndexFuture) error {
	if err := f.Error(); err != nil {
		return err
	}
	return g.appendNoop()
}

func (g *Group) appendNoop() error {
	if g.store.c.Noop == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(g.store.ctx, changeTimeout)
	defer cancel()
	_, _, err := g.batcher.Propose(ctx, g.store.c.Noop)
	return err
}
