package raftstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
