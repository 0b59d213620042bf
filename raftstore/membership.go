package raftstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

func (g *Group) servers() raft.Configuration { return g.raft.GetConfiguration().Configuration() }

// find returns the incarnations of a node in a configuration, most often one.
func find(c raft.Configuration, node string) (found []raft.Server) {
	for _, s := range c.Servers {
		if nodeOf(s.ID) == node {
			found = append(found, s)
		}
	}
	return found
}

// self returns this node's entry in the configuration of a group.
func (g *Group) self() (raft.Server, bool) {
	for _, s := range g.servers().Servers {
		if s.ID == g.store.identity.Server {
			return s, true
		}
	}
	return raft.Server{}, false
}

// knows reports whether a node is in the configuration of a group.
func (s *Store) knows(node string) bool {
	for _, g := range s.groups {
		if len(find(g.servers(), node)) > 0 {
			return true
		}
	}
	return false
}

// trusts reports whether a node whose certificate is good may speak raft and forward. A node that joins knows nobody yet
// and lets the authority decide.
func (s *Store) trusts(node string) bool {
	if !s.serving.Load() {
		return true
	}
	for _, g := range s.groups {
		if len(g.servers().Servers) == 0 {
			return true
		}
	}
	return s.knows(node)
}

// nameOf returns the id of the node at an address, as far as the configurations say.
func (s *Store) nameOf(address string) string {
	if s.serving.Load() {
		for _, g := range s.groups {
			for _, server := range g.servers().Servers {
				if string(server.Address) == address {
					return nodeOf(server.ID)
				}
			}
		}
	}
	return ""
}

// cutStrangers closes the connections of nodes that are no members any more, whenever members changed. Nodes are known by
// their certificates, so on plain TCP nothing is cut.
func (s *Store) cutStrangers() {
	for {
		select {
		case <-s.members:
			s.mux.Cut(s.trusts)
		case <-s.life.Done():
			return
		}
	}
}

// membersChanged wakes cutStrangers.
func (s *Store) membersChanged() {
	select {
	case s.members <- struct{}{}:
	default: // It is awake.
	}
}

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
		if err := g.raft.DemoteVoter(s.ID, 0, changeTimeout).Error(); err != nil {
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

func voters(c raft.Configuration) (n int) {
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			n++
		}
	}
	return n
}

// askLeader puts a question to the leader of a group, wherever it is. It tries again while nobody leads, as in the middle
// of a change of leaders.
func (s *Store) askLeader(ctx context.Context, q question) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		err := s.askLeaderOnce(ctx, q)
		if !errors.Is(err, ErrNotLeader) {
			return err
		}
		if !s.groups[q.Group].waitRetry(ctx, askPause) {
			return err
		}
	}
}

func (s *Store) askLeaderOnce(ctx context.Context, q question) error {
	g := s.groups[q.Group]
	q.Node, q.Run = s.c.NodeID, s.run
	if g.Ready() {
		_, err := s.change(ctx, q)
		return err
	}
	leader, _ := g.raft.LeaderWithID()
	for _, address := range s.memberAddresses(ctx, g, string(leader)) {
		a, err := s.ask(ctx, address, q)
		if err != nil && a.Leader != "" && a.Leader != address {
			a, err = s.ask(ctx, a.Leader, q)
		}
		switch {
		case err == nil:
			return nil
		case a.InUse:
			return refusal{fmt.Errorf("%w: %w", ErrNodeInUse, err)}
		case a.Final:
			return refusal{err}
		case a.Refused != "" && !strings.Contains(a.Refused, ErrNotLeader.Error()):
			return err
		}
	}
	return ErrNotLeader
}

// memberAddresses are where the leader of a group may be: first is tried first.
func (s *Store) memberAddresses(ctx context.Context, g *Group, first string) []string {
	addresses := append(s.seeds(ctx), s.identity.Via)
	for _, server := range g.servers().Servers {
		addresses = append(addresses, string(server.Address))
	}
	addresses = s.others(addresses)
	if first == "" || first == string(s.address) {
		return addresses
	}
	return append([]string{first}, slices.DeleteFunc(addresses, func(a string) bool { return a == first })...)
}

// Remove takes a node out of every group. Ask any member but the node itself; a group whose leader is the node hands
// over first. Repeat it after an error. The node stays away, also with an empty directory, until it is admitted.
func (s *Store) Remove(ctx context.Context, node string) error {
	return s.changeAll(ctx, question{Op: "remove", Subject: node})
}

// Admit lets a node that was removed come back. It joins by itself then, as a member without a vote first. When it runs at
// address already, it is made a member at once.
func (s *Store) Admit(ctx context.Context, node, address string) error {
	if err := s.changeAll(ctx, question{Op: "admit", Subject: node}); err != nil || address == "" {
		return err
	}
	a, err := s.ask(ctx, address, question{Op: "hello"})
	switch {
	case err != nil || a.Cluster != s.identity.Cluster: // It comes when it can.
		return nil //nolint:nilerr // As said.
	case a.Node != node:
		return refuse("%s is the address of %s, not of %s", address, a.Node, node)
	}
	return s.changeAll(ctx, question{Op: "join", Subject: node, Server: a.Server, Address: a.Address})
}

// Promote gives a member a vote in every group that has room for one more. Nodes do it by themselves when they have caught
// up; a node that has not makes the next commits wait.
func (s *Store) Promote(ctx context.Context, node string) error {
	return s.changeAll(ctx, question{Op: "promote", Subject: node})
}

// Transfer gives the leadership of a group to a voter.
func (s *Store) Transfer(ctx context.Context, group uint16, node string) error {
	if s.groups[group] == nil {
		return refuse("there is no group %d", group)
	}
	return s.askLeader(ctx, question{Op: "transfer", Subject: node, Group: group})
}

// changeAll asks the leader of each group, one after the other.
func (s *Store) changeAll(ctx context.Context, q question) error {
	for _, id := range s.c.Groups {
		q.Group = id
		if err := s.askLeader(ctx, q); err != nil {
			return fmt.Errorf("group %d: %w", id, err)
		}
	}
	return nil
}

// Member is a node of a group.
type Member struct {
	ID      string
	Address string
	Voter   bool
}

// Members are the nodes of the group, as of this node's newest configuration.
func (g *Group) Members() (all []Member) {
	for _, s := range g.servers().Servers {
		all = append(all, Member{nodeOf(s.ID), string(s.Address), s.Suffrage == raft.Voter})
	}
	return all
}
