package raftstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// readPoll is how often a reader looks whether its node has caught up.
const readPoll = 2 * time.Millisecond

// readIndex confirms that this node leads and returns an index whose entries include every command answered before.
func (g *Group) readIndex(ctx context.Context) (uint64, error) {
	g.mu.Lock()
	term := g.term
	g.mu.Unlock()
	index := g.raft.CommitIndex()
	if term == 0 || g.verifyLeader(ctx) != nil {
		return 0, ErrNotLeader
	}
	// Raft itself is asked: its notices come later, and a leadership lost and won again meanwhile is another one.
	if g.raft.CurrentTerm() != term {
		return 0, ErrNotLeader
	}
	return index, nil
}

// verifyLeader asks the others whether this node still leads. Raft answers from its main loop, which a slow disk may hold for
// longer than the caller waits. BOUND: as many goroutines as there are callers in the time after which the watchdog ends
// the process.
func (g *Group) verifyLeader(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() { answer <- g.whileOpen(func() error { return g.raft.VerifyLeader().Error() }) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ReadBarrier returns when this node's state contains every command that was answered before the call, on whatever node:
// a Read after it is linearizable. It asks the leader and waits until this node has applied as much, or ctx ends.
func (g *Group) ReadBarrier(ctx context.Context) error {
	result, err := g.persist(ctx, func(ctx context.Context, address string) ([]byte, string, error) {
		if address == "" {
			index, err := g.readIndex(ctx)
			return binary.BigEndian.AppendUint64(nil, index), "", err
		}
		return g.ask(ctx, address, opReadIndex, nil)
	})
	if err != nil {
		return err
	}
	if len(result) != 8 {
		return fmt.Errorf("%w: a read index of %d bytes", ErrNotLeader, len(result))
	}
	return g.WaitApplied(ctx, binary.BigEndian.Uint64(result))
}

// WaitApplied waits until this node's state contains the entries up to index, ctx ends or the store closes.
func (g *Group) WaitApplied(ctx context.Context, index uint64) error {
	for !g.contains(index) {
		timer := time.NewTimer(readPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-g.store.life.Done():
			timer.Stop()
			return ErrClosed
		}
	}
	return nil
}

// contains reports whether the state has everything up to index that a state machine gets: the index of the state does
// not move for raft's own entries.
func (g *Group) contains(index uint64) bool {
	applied := g.machine.applied.Load().Index
	if applied >= index {
		return true
	}
	if g.raft.AppliedIndex() < index {
		return false
	}
	for i := applied + 1; i <= index; i++ {
		var l raft.Log
		if g.log.GetLog(i, &l) != nil || l.Type == raft.LogCommand || l.Type == raft.LogConfiguration {
			return false
		}
	}
	return true
}

// Leader is the id of the node that leads the group, as far as this node knows; empty: unknown.
func (g *Group) Leader() string {
	_, id := g.raft.LeaderWithID()
	return nodeOf(id)
}

// WaitLeader waits until this node leads, or knows a leader and has applied what it told at first. Then Propose works and
// the state is worth serving from.
func (g *Group) WaitLeader(ctx context.Context) error {
	for {
		if g.Ready() {
			return nil
		}
		if _, commit := g.safe.LeaderContact(); commit > 0 && g.Leader() != "" {
			return g.WaitApplied(ctx, commit)
		}
		if !g.waitRetry(ctx, retryPauseMin) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return ErrClosed
		}
	}
}

// Freshness is what a follower knows about the age of its state.
type Freshness struct {
	Leads     bool      // This node leads, and has applied what is committed.
	Contact   time.Time // When a leader last called; zero: never since the start.
	AppliedAt time.Time // When entries were last applied since the start; zero: not yet.
	Applied   uint64    // Index of the state.
	Commit    uint64    // What the leader last called committed.
}

// Freshness reports the inputs of a staleness rule; it costs some loads of atomics.
func (g *Group) Freshness() Freshness {
	at, commit := g.safe.LeaderContact()
	f := Freshness{Leads: g.Ready(), Contact: at, Applied: g.machine.applied.Load().Index, Commit: commit}
	if nanos := g.machine.appliedAt.Load(); nanos != 0 {
		f.AppliedAt = time.Unix(0, nanos)
	}
	return f
}
