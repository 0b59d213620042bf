package raftstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// Pauses between two attempts to reach the leader.
const (
	retryPauseMin = 20 * time.Millisecond
	retryPauseMax = time.Second
	// noSpaceRetryMax is how long a caller waits for a leader with space.
	noSpaceRetryMax = 2 * time.Second
)

// CommandBytesMax is the largest command, in bytes.
const CommandBytesMax = proposal.CommandBytesMax

// attempt tries once to get something done by the leader: this node when address is empty, else the node at address.
// hint is the leader's address as far as the asked node knows.
type attempt func(ctx context.Context, address string) (result []byte, hint string, err error)

// retry repeats an attempt until it succeeds, the leader refuses for good, or ctx ends. A hint about the leader is
// followed once without a pause, and the news of a leader makes the pauses short again, because a new leader needs a
// moment until it is ready. unknown says that an attempt with an unknown outcome was made before.
//
// INVARIANT: an outcome that was unknown once stays unknown until the same bytes succeed: the error is then ErrUnknown
// and none that says that nothing was applied, whatever later attempts returned.
func (g *Group) retry(ctx context.Context, unknown bool, try attempt) ([]byte, error) {
	hint, followed, began := "", false, time.Now()
	for pause := retryPauseMin; ; pause = min(2*pause, retryPauseMax) {
		address := hint
		if address == "" {
			leader, _ := g.raft.LeaderWithID()
			address = string(leader)
		}
		result, next, err := g.attempt(ctx, address, try)
		switch {
		case err == nil:
			return result, nil
		case !unknown && (errors.Is(err, ErrTooLarge) || errors.Is(err, ErrClosed) || errors.Is(err, ErrOverloaded)):
			return nil, err
		case errors.Is(err, ErrNoSpace): // The leader transfers its leadership, or no node has space.
			if !unknown && time.Since(began) > noSpaceRetryMax {
				return nil, ErrNoSpace
			}
		case errors.Is(err, ErrUnknown):
			unknown = true
		}
		hint = ""
		if next != "" && next != address && !followed {
			hint, followed = next, true
			continue
		}
		moved := g.lead.Changed()
		if !g.lead.Wait(ctx, rand.N(pause)+pause/2) { //nolint:gosec // jitter, no secret.
			why := ctx.Err()
			switch {
			case unknown && why == nil:
				return nil, fmt.Errorf("%w: the store closes", ErrUnknown)
			case unknown:
				return nil, fmt.Errorf("%w: %w", ErrUnknown, why)
			case why == nil:
				return nil, ErrClosed
			default:
				return nil, fmt.Errorf("%w: %w", ErrNotLeader, why)
			}
		}
		select {
		case <-moved:
			pause = retryPauseMin / 2 // The loop doubles it at once.
		default:
		}
		followed = false
	}
}

// attempt calls try for this node when it leads, else for the node at address.
func (g *Group) attempt(ctx context.Context, address string, try attempt) (result []byte, hint string, err error) {
	if g.Ready() {
		return try(ctx, "")
	}
	if address == "" || address == string(g.store.address) {
		return nil, "", ErrNotLeader
	}
	return try(ctx, address)
}

// forward sends one request to the node at address over the forward connection and maps the answer to the errors of
// Propose.
func (g *Group) forward(ctx context.Context, address string, op byte, payload []byte) (result []byte, hint string, err error) {
	f, err := g.store.links.request(ctx, g, address, op, payload)
	switch {
	case errors.Is(err, ErrOverloaded):
		return nil, "", err
	case errors.Is(err, errNotSent):
		return nil, "", fmt.Errorf("%w: %w", ErrNotLeader, err)
	case err != nil:
		return nil, "", fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	switch f.status {
	case statusOK:
		return f.payload, "", nil
	case statusNotLeader:
		return nil, string(f.payload), ErrNotLeader
	case statusOverload:
		return nil, "", ErrOverloaded
	case statusTooLarge:
		return nil, "", ErrTooLarge
	case statusNoSpace:
		return nil, "", ErrNoSpace
	default:
		return nil, "", ErrUnknown
	}
}

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
	result, err = g.retry(ctx, errors.Is(err, ErrUnknown), func(ctx context.Context, address string) (result []byte, hint string, err error) {
		if address == "" {
			result, index, err = g.proposeLocal(ctx, cmd)
			return result, "", err
		}
		result, hint, err = g.forward(ctx, address, opPropose, cmd)
		if err == nil && len(result) < indexBytes { // The answer cannot be decoded, and the command may be applied.
			return nil, "", fmt.Errorf("%w: an answer of %d bytes", ErrUnknown, len(result))
		}
		if err == nil {
			index, result = binary.BigEndian.Uint64(result), result[indexBytes:]
		}
		return result, hint, err
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

// clustered reports whether other nodes may lead the group.
func (g *Group) clustered() bool {
	return g.store.c.PeerListen != "" && (g.store.identity.Joined || len(g.servers().Servers) > 1)
}
