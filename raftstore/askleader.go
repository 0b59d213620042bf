package raftstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// askLeader sends a question to the leader of a group, on whatever node it is. While no node leads, as during an
// election, it tries again, for askTimeout at most. It returns ErrRefused for a refusal that will not pass,
// ErrNotLeader when no leader was found in time, ErrClosed when this store closes, or the error of the attempt.
func (s *Store) askLeader(ctx context.Context, q question) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		err := s.askLeaderOnce(ctx, q)
		if !errors.Is(err, ErrNotLeader) {
			return err
		}
		if !s.groups[q.Group].lead.Wait(ctx, askPause) {
			return err
		}
	}
}

func (s *Store) askLeaderOnce(ctx context.Context, q question) error {
	g := s.groups[q.Group]
	q.Node, q.ProcessID = s.c.NodeID, s.processID
	if g.Ready() {
		_, err := s.changeMembership(ctx, q)
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

// memberAddresses returns the addresses at which the leader of a group may be; the one in first comes first.
func (s *Store) memberAddresses(ctx context.Context, g *Group, first string) []string {
	addresses := append(s.seeds(ctx), s.identity.Via)
	for _, server := range g.servers().Servers {
		addresses = append(addresses, string(server.Address))
	}
	addresses = s.otherAddresses(addresses)
	if first == "" || first == string(s.address) {
		return addresses
	}
	return append([]string{first}, slices.DeleteFunc(addresses, func(a string) bool { return a == first })...)
}

// changeAll sends a question to the leader of each group, one after the other, and stops at the first error.
func (s *Store) changeAll(ctx context.Context, q question) error {
	for _, id := range s.c.Groups {
		q.Group = id
		if err := s.askLeader(ctx, q); err != nil {
			return fmt.Errorf("group %d: %w", id, err)
		}
	}
	return nil
}

// Remove removes a node from every group, one group after the other. Any member but the node itself may be asked; where
// the node leads a group, it transfers the leadership first. The node stays away, also with an empty directory, until
// Admit.
//
// Each group takes at most 15 s (askTimeout), or less when ctx ends. ErrRefused is final, for example when the node is
// the only voter. Any other error (ErrNotLeader: no leader was found; ErrClosed; an error of Raft or of the network)
// may pass, and groups before it are done: repeat the call, which changes nothing where the node is removed already.
func (s *Store) Remove(ctx context.Context, node string) error {
	return s.changeAll(ctx, question{Op: "remove", Subject: node})
}

// Admit allows a node that was removed to come back. The node then joins by itself, first as a learner. When it runs at
// address already it becomes a member at once; an empty address skips that.
//
// Times and errors are those of Remove. ErrRefused is also returned when another node answers at address, and, with
// ErrNodeInUse, when the node already runs elsewhere.
func (s *Store) Admit(ctx context.Context, node, address string) error {
	if err := s.changeAll(ctx, question{Op: "admit", Subject: node}); err != nil || address == "" {
		return err
	}
	a, err := s.ask(ctx, address, question{Op: "hello"})
	switch {
	case err != nil || a.Cluster != s.identity.Cluster: // The node joins by itself when it can.
		return nil //nolint:nilerr // A node that cannot be reached is admitted all the same.
	case a.Node != node:
		return refuse("%s is the address of %s, not of %s", address, a.Node, node)
	}
	return s.changeAll(ctx, question{Op: "join", Subject: node, Server: a.Server, Address: a.Address})
}

// Promote gives a member a vote in every group. Nodes promote themselves when they have caught up; a node that has not
// makes the next commits wait.
//
// Times and errors are those of Remove. ErrRefused is returned when the node is not a member, or when a group has
// VotersMax voters.
func (s *Store) Promote(ctx context.Context, node string) error {
	return s.changeAll(ctx, question{Op: "promote", Subject: node})
}

// Transfer gives the leadership of a group to a voter. It changes nothing when that node leads already.
//
// Times and errors are those of Remove. ErrRefused is returned when there is no such group or the node is not a voter
// of it. A follower that does not take the leadership in time is not tried again for a minute in the same term; that
// error may pass.
func (s *Store) Transfer(ctx context.Context, group uint16, node string) error {
	if s.groups[group] == nil {
		return refuse("there is no group %d", group)
	}
	return s.askLeader(ctx, question{Op: "transfer", Subject: node, Group: group})
}
