package raftstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/raftstore/forward"
	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// CommandBytesMax is the largest command, in bytes.
const CommandBytesMax = proposal.CommandBytesMax

// Propose commits a command of at most CommandBytesMax bytes and returns the state machine's result. It returns when
// the command is durable on a majority of the voters and applied at the leader. In a cluster, a node that does not lead
// sends the command to the leader, and repeats the same bytes until ctx ends while the outcome is unknown, so commands
// must be idempotent. A node that is alone tries once.
//
// These errors mean that the command was not applied: ErrTooLarge, ErrOverloaded (too many commands wait), ErrNoSpace
// (the leader's disk is nearly full; in a cluster the call first waits two seconds for a leader with space), ErrClosed,
// and ErrNotLeader (no leader took the command before ctx ended). ErrUnknown means that it may be applied, now or
// later: the caller repeats the same bytes. A ctx that ended before the call is returned as its error; where a wait
// ended with ctx, the error wraps ctx.Err too. OWNERSHIP: cmd is copied, the result is the caller's.
func (g *Group) Propose(ctx context.Context, cmd []byte) (result []byte, err error) {
	result, _, err = g.ProposeAt(ctx, cmd)
	return result, err
}

// ProposeAt is Propose that also returns the index of the command's entry: a caller that waits for the index with
// WaitApplied, on whatever node, reads what the command wrote.
func (g *Group) ProposeAt(ctx context.Context, cmd []byte) (result []byte, index uint64, err error) {
	ready, closed := g.lead.State()
	if closed {
		return nil, 0, ErrClosed
	}
	if ready {
		result, index, err = g.proposeLocal(ctx, cmd)
		if err == nil || !(errors.Is(err, ErrNotLeader) || errors.Is(err, ErrUnknown) || errors.Is(err, ErrNoSpace)) {
			return result, index, err
		}
	} else {
		err = ErrNotLeader
	}
	if !g.clustered() || ctx.Err() != nil {
		return nil, 0, err
	}
	if len(cmd) > CommandBytesMax {
		return nil, 0, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(cmd), CommandBytesMax)
	}
	to := g.forwarded()
	err = to.Retry(ctx, errors.Is(err, ErrUnknown), func(ctx context.Context, address string) (hint string, err error) {
		if address == "" {
			result, index, err = g.proposeLocal(ctx, cmd)
			return "", err
		}
		result, index, hint, err = g.store.forward.Propose(ctx, to, address, cmd)
		return hint, err
	})
	return result, index, err
}

// proposeLocal commits a command as the leader, or returns ErrNoSpace while this node is Low.
func (g *Group) proposeLocal(ctx context.Context, cmd []byte) (result []byte, index uint64, err error) {
	if g.store.space.Low() {
		return nil, 0, ErrNoSpace
	}
	return g.batcher.Propose(ctx, cmd)
}

// ProposeReserved commits a command that a cluster needs in order to serve reads, such as the leader's time, from the
// reserve of the disk: also while this node is Low, until it is Full. Without such commands the replicas of nodes that
// are all Low would count as stale, and nothing would be sold although nothing is wrong with them.
//
// Only the ready leader takes it, and nothing is forwarded or repeated, because the caller has another command soon.
// Errors are those of Propose: ErrNotLeader when this node is not ready as leader, and ErrNoSpace when it is Full,
// among those that mean that nothing was applied.
// REQUIRES: such commands are small and few, because each one is written where space is short.
func (g *Group) ProposeReserved(ctx context.Context, cmd []byte) (result []byte, err error) {
	switch {
	case !g.Ready():
		return nil, ErrNotLeader
	case g.store.space.Full():
		return nil, ErrNoSpace
	}
	result, _, err = g.batcher.Propose(ctx, cmd)
	return result, err
}

// forwarded returns the group as package forward needs it.
func (g *Group) forwarded() forward.Group {
	return forward.Group{ID: g.id, Own: string(g.store.address), Lead: g.lead}
}

// clustered reports whether other nodes may lead the group.
func (g *Group) clustered() bool {
	return g.store.c.PeerListen != "" && (g.store.identity.Joined || len(g.servers().Servers) > 1)
}
