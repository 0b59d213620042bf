package raftstore

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// readPoll is the time between two checks whether this node has caught up.
	readPoll = 2 * time.Millisecond
	// waitLeaderPause is the time between two checks whether this node knows a leader; a change wakes it earlier.
	waitLeaderPause = 20 * time.Millisecond
)

// ReadBarrier returns when this node's state contains every command that was answered before the call, on whatever
// node: a Read after it is linearizable. It asks the leader for its commit index and waits until this node has applied
// as much, so it needs a leader that a majority confirms.
//
// It returns ErrNotLeader or ErrUnknown when no leader confirmed before ctx ended (they wrap ctx.Err), ErrOverloaded
// when too many requests wait, ErrClosed when the store closes, or ctx.Err. It changes nothing, so any call may be
// repeated.
func (g *Group) ReadBarrier(ctx context.Context) error {
	var index uint64
	to := g.forwarded()
	err := to.Retry(ctx, false, func(ctx context.Context, address string) (hint string, err error) {
		if address == "" {
			index, err = g.lead.ReadIndex(ctx)
			return "", err
		}
		index, hint, err = g.store.forward.ReadIndex(ctx, to, address)
		return hint, err
	})
	if err != nil {
		return err
	}
	return g.WaitApplied(ctx, index)
}

// WaitApplied waits until this node's state contains the entries up to index. It returns ErrClosed when the store
// closes, and ctx.Err when ctx ends first.
func (g *Group) WaitApplied(ctx context.Context, index uint64) error {
	for !g.contains(index) {
		timer := time.NewTimer(readPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-g.store.ctx.Done():
			timer.Stop()
			return ErrClosed
		}
	}
	return nil
}

// contains reports whether the state has everything up to index that a state machine is given: the index of the state
// does not move for Raft's own entries. An entry that is no longer in the log is in a snapshot, and with it in the
// state: Raft deletes entries only after it took the snapshot from the state, or restored it into the state.
func (g *Group) contains(index uint64) bool {
	applied := g.machine.applied.Load().index
	if applied >= index {
		return true
	}
	if g.raft.AppliedIndex() < index {
		return false
	}
	first, err := g.log.FirstIndex()
	switch {
	case err != nil:
		return false
	case first == 0:
		return true
	}
	for i := max(applied+1, first); i <= index; i++ {
		var l raft.Log
		if g.log.GetLog(i, &l) != nil || l.Type == raft.LogCommand || l.Type == raft.LogConfiguration {
			return false
		}
	}
	return true
}

// Leader returns the id of the node that leads the group, as far as this node knows; empty: unknown. REQUIRES: the
// store is open.
func (g *Group) Leader() string {
	_, id := g.raft.LeaderWithID()
	return transport.NodeOf(id)
}

// WaitLeader waits until this node leads, or knows a leader and has applied the first commit index that the leader
// sent. Then Propose works and the state is recent enough to serve from. It returns ErrClosed when the store closes,
// and ctx.Err when ctx ends first.
func (g *Group) WaitLeader(ctx context.Context) error {
	for {
		if g.Ready() {
			return nil
		}
		if _, commit := g.safe.LeaderContact(); commit > 0 && g.Leader() != "" {
			return g.WaitApplied(ctx, commit)
		}
		if !g.lead.Wait(ctx, waitLeaderPause) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return ErrClosed
		}
	}
}

// Freshness holds what a node knows about the age of its state.
type Freshness struct {
	Leads     bool      // This node leads, and has applied what is committed.
	Contact   time.Time // When a leader last called; zero: never since the start.
	AppliedAt time.Time // When entries were last applied since the start; zero: not yet.
	Applied   uint64    // Index of the state.
	Commit    uint64    // What the leader last called committed.
}

// Freshness returns the inputs of a rule about replica age. The rule itself belongs to the state machine, whose ticks
// carry the leader's time. It costs some atomic loads and takes a mutex for a moment.
func (g *Group) Freshness() Freshness {
	at, commit := g.safe.LeaderContact()
	f := Freshness{Leads: g.Ready(), Contact: at, AppliedAt: g.machine.appliedAt.Time(), Applied: g.machine.applied.Load().index, Commit: commit}
	return f
}
