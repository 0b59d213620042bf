package raftstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// VotersMax bounds the voters of a group. BOUND: each more makes every commit slower; further nodes are learners.
	VotersMax = 5

	changeTimeout = 4 * time.Second
	// askTimeout bounds the search for a leader that makes a change.
	askTimeout = 15 * time.Second
	askPause   = 200 * time.Millisecond
)

var errVotersFull = errors.New("the group has all the voters it may have")

// change changes the members of a group, if this node leads it; otherwise it returns who does. Ctx bounds the wait for other
// changes; one that was begun comes to its end.
func (s *Store) change(ctx context.Context, q question) (leader string, err error) {
	g := s.groups[q.Group]
	if g == nil {
		return "", refuse("there is no group %d", q.Group)
	}
	if !g.Ready() {
		address, _ := g.raft.LeaderWithID()
		return string(address), ErrNotLeader
	}
	select {
	case s.membership <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("another change of members is under way: %w", ctx.Err())
	}
	defer func() { <-s.membership }()
	return "", g.whileOpen(func() error { return g.changeMembers(q) })
}

// changeMembers makes one change of members. REQUIRES: this node leads, and Store.membership is held.
func (g *Group) changeMembers(q question) error {
	switch q.Op {
	case "join":
		return g.admit(q)
	case "admit":
		return g.setRemoved(q.Subject, false)
	case "promote":
		return g.promote(q)
	case "remove":
		return g.remove(q.Subject)
	case "transfer":
		return g.transfer(q.Subject)
	}
	return refuse("unknown operation %q", q.Op)
}

// admit makes an incarnation of a node a learner, or tells the group its new address. Another incarnation, whose directory
// is lost, goes first: it will never vote again, and would count as a voter for ever.
func (g *Group) admit(q question) error {
	if q.Server == "" || nodeOf(q.Server) != q.Subject || q.Address == "" {
		return refuse("%q at %q is no incarnation of %q", q.Server, q.Address, q.Subject)
	}
	if err := g.mayJoin(q); err != nil {
		return err
	}
	for _, known := range find(g.servers(), q.Subject) {
		switch {
		case known.ID != q.Server:
			if err := g.drop(known); err != nil {
				return err
			}
		case known.Address == raft.ServerAddress(q.Address):
			return nil
		case known.Suffrage == raft.Voter:
			return g.changed(g.raft.AddVoter(q.Server, raft.ServerAddress(q.Address), 0, changeTimeout))
		}
	}
	return g.changed(g.raft.AddNonvoter(q.Server, raft.ServerAddress(q.Address), 0, changeTimeout))
}

// mayJoin returns why a node may not join: it was removed, or lives elsewhere. An address that nobody answers at is dead:
// if the process behind it still lives it is cut off, and what it is told by then is decided by raft.
func (g *Group) mayJoin(q question) error {
	if g.isRemoved(q.Subject) {
		return refuse("%s was removed from the cluster; admit it first", q.Subject)
	}
	for _, known := range find(g.servers(), q.Subject) {
		if known.ID == q.Server && known.Address == raft.ServerAddress(q.Address) && q.Op == "join" {
			continue // When it started it was asked who lives there.
		}
		ctx, cancel := context.WithTimeout(g.store.life, seedTimeout)
		a, err := g.store.ask(ctx, string(known.Address), question{Op: "hello"})
		cancel()
		if err == nil && a.Server == known.ID && a.Run != q.Run {
			return inUse(q.Subject, string(known.Address))
		}
	}
	if admits := g.store.c.Admits; admits != nil {
		if err := g.Read(func(r Reader) error { return admits(r, q.About) }); err != nil {
			return fmt.Errorf("%s cannot be a member: %w", q.Subject, err)
		}
	}
	return nil
}

// welcome tells a node that starts whether it could join, as far as this member knows.
func (s *Store) welcome(q question) error {
	for _, id := range s.c.Groups {
		if err := s.groups[id].mayJoin(q); err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) promote(q question) error {
	servers := g.servers()
	found := find(servers, q.Subject)
	switch {
	case len(found) == 0:
		return refuse("%s is no member", q.Subject)
	case found[0].Suffrage == raft.Voter:
		return nil
	case voters(servers) >= VotersMax:
		return refuse("%w: %d", errVotersFull, VotersMax)
	}
	return g.changed(g.raft.AddVoter(found[0].ID, found[0].Address, 0, changeTimeout))
}

// remove takes a node out of the group and remembers that it was told to stay away. A leader that removes itself hands
// over first and lets its successor do it.
func (g *Group) remove(node string) error {
	found := find(g.servers(), node)
	for _, s := range found {
		if s.Suffrage == raft.Voter && voters(g.servers()) == 1 {
			return refuse("the only voter cannot be removed")
		}
		if s.ID == g.store.identity.Server {
			return errors.Join(g.offer(), ErrNotLeader)
		}
	}
	if err := g.setRemoved(node, true); err != nil {
		return err
	}
	for _, s := range found {
		if err := g.drop(s); err != nil {
			return err
		}
	}
	return nil
}

// drop removes a server, a voter in two steps.
func (g *Group) drop(s raft.Server) error {
	if s.Suffrage == raft.Voter {
		if voters(g.servers()) == 1 {
			return refuse("the only voter cannot be removed")
		}
		if err := g.changed(g.raft.DemoteVoter(s.ID, 0, changeTimeout)); err != nil {
			return err
		}
	}
	return g.changed(g.raft.RemoveServer(s.ID, 0, changeTimeout))
}

func (g *Group) transfer(node string) error {
	found := find(g.servers(), node)
	if len(found) == 0 || found[0].Suffrage != raft.Voter {
		return refuse("%s is no voter", node)
	}
	if found[0].ID == g.store.identity.Server {
		return nil // This node leads.
	}
	return g.handTo(found[0])
}

// changed waits for a change of members and appends a no-op; see Config.Noop.
func (g *Group) changed(f raft.IndexFuture) error {
	if err := f.Error(); err != nil {
		return err
	}
	return g.noop()
}

func (g *Group) noop() error {
	if g.store.c.Noop == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(g.store.life, changeTimeout)
	defer cancel()
	_, _, err := g.batcher.propose(ctx, g.store.c.Noop)
	return err
}
