package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/raftstore/control"
	"github.com/gavel-ads/gavel/raftstore/proposal"
)

const (
	// askTimeout bounds the search for a leader that makes a change, for each group.
	askTimeout = 15 * time.Second
	askPause   = 200 * time.Millisecond
)

// askLeader asks the leader of a group for a change, on whatever node it is. While no node leads, as during an
// election, it tries again, for askTimeout at most. It returns ErrRefused for a refusal that will not pass,
// proposal.ErrNotLeader when no leader was found in time, proposal.ErrClosed when this store closes, or the error of
// the attempt.
func askLeader[C change](ctx context.Context, m *Members, o control.Operation[request[C], leaderHint], q request[C]) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		err := askLeaderOnce(ctx, m, o, q)
		if !errors.Is(err, proposal.ErrNotLeader) {
			return err
		}
		if !m.groups[q.Group].Lead.Wait(ctx, askPause) {
			return err
		}
	}
}

func askLeaderOnce[C change](ctx context.Context, m *Members, o control.Operation[request[C], leaderHint], q request[C]) error {
	g := m.groups[q.Group]
	if g.Lead.Ready() {
		_, err := m.change(ctx, q.Group, q.Change, m.peers.self)
		return err
	}
	for _, address := range m.memberAddresses(ctx, g, g.Lead.Address()) {
		hint, _, err := o.Ask(ctx, m.peers.port, address, q)
		if err != nil && hint.Leader != "" && hint.Leader != address {
			_, _, err = o.Ask(ctx, m.peers.port, hint.Leader, q)
		}
		if err == nil {
			return nil
		}
		if _, refused := errors.AsType[*control.Refusal](err); refused && !errors.Is(err, proposal.ErrNotLeader) {
			return err
		}
	}
	return proposal.ErrNotLeader
}

// memberAddresses returns the addresses at which the leader of a group may be; the one in first comes first.
func (m *Members) memberAddresses(ctx context.Context, g *Group, first string) []string {
	addresses := append(m.peers.seeds(ctx), m.identity.Via)
	for _, server := range g.servers().Servers {
		addresses = append(addresses, string(server.Address))
	}
	addresses = m.peers.others(addresses)
	if first == "" || first == m.peers.address {
		return addresses
	}
	return append([]string{first}, slices.DeleteFunc(addresses, func(a string) bool { return a == first })...)
}

// changeAll asks the leader of each group for a change, one after the other, and stops at the first error.
func changeAll[C change](ctx context.Context, m *Members, o control.Operation[request[C], leaderHint], c C) error {
	for _, id := range m.order {
		if err := askLeader(ctx, m, o, request[C]{id, c}); err != nil {
			return fmt.Errorf("group %d: %w", id, err)
		}
	}
	return nil
}

// Remove removes a node from every group, one after the other; it stays away until Admit. Each group takes at most 15 s
// (askTimeout). ErrRefused is final. Any other error (proposal.ErrNotLeader: no leader was found; proposal.ErrClosed; an
// error of Raft or of the network) may pass, and groups before it are done, so the call is repeated.
func (m *Members) Remove(ctx context.Context, node string) error {
	return changeAll(ctx, m, remove, removal{node})
}

// Admit allows a node that was removed to come back. The node asks to join by itself, for only it can say what it supports
// (State.CheckJoin). Times and errors are those of Remove. ErrRefused is also returned when another node of the cluster
// answers at address; an empty address is not asked.
func (m *Members) Admit(ctx context.Context, node, address string) error {
	if err := changeAll(ctx, m, admit, admission{node}); err != nil || address == "" {
		return err
	}
	a, by, err := sayHello.Ask(ctx, m.peers.port, address, m.hello())
	if err == nil && a.Cluster == m.identity.Cluster && by.Node != node {
		return refuse("%s is the address of %s, not of %s", address, by.Node, node)
	}
	return nil // A node that cannot be reached is admitted all the same.
}

// Promote gives a member a vote in every group. Times and errors are those of Remove. ErrRefused is returned when the
// node is not a member, or when a group has VotersMax voters.
func (m *Members) Promote(ctx context.Context, node string) error {
	return changeAll(ctx, m, promote, promotion{node})
}

// Transfer gives the leadership of a group to a voter, or does nothing when that node leads. Times and errors are those
// of Remove. ErrRefused is returned when there is no such group or the node is not a voter of it.
func (m *Members) Transfer(ctx context.Context, group uint16, node string) error {
	if m.groups[group] == nil {
		return refuse("there is no group %d", group)
	}
	return askLeader(ctx, m, transfers, request[transfer]{group, transfer{node}})
}

// hello returns what introduces this member to another node.
func (m *Members) hello() hello {
	return hello{Server: m.identity.Server, Address: m.peers.address, Cluster: m.identity.Cluster, Groups: m.order}
}
