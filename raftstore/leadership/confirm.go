package leadership

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// confirmPoll is the time between two checks who has answered a leader; on a fast network most voters do within one.
const confirmPoll = 500 * time.Microsecond

// ReadIndex confirms that this node leads and returns an index whose entries include every command that was answered
// before the call. It returns ErrNotLeader when this node does not lead, or was not confirmed within Lease.
//
// INVARIANT: between the beginning of the call and its end, most voters were in the term in which this node leads, so
// that no other node had won a later term with their votes when the call began. Raft's own VerifyLeader does not show
// that: it counts learners, and answers to calls that were sent before it was called. It is called all the same,
// because it makes Raft call every follower now.
func (g *Group) ReadIndex(ctx context.Context) (uint64, error) {
	g.mu.Lock()
	term := g.term
	g.mu.Unlock()
	began, index := time.Now(), g.c.Raft.CommitIndex()
	if term == 0 || g.verifyLeader(ctx) != nil || !g.confirmed(ctx, term, began) {
		return 0, proposal.ErrNotLeader
	}
	// The term comes from Raft itself, whose notices come later; a leadership that was lost and won again is another
	// one.
	if g.c.Raft.CurrentTerm() != term {
		return 0, proposal.ErrNotLeader
	}
	return index, nil
}

// confirmed waits, for Lease at most, until most voters have answered a call of a term that was sent at or after
// began.
func (g *Group) confirmed(ctx context.Context, term uint64, began time.Time) bool {
	ctx, cancel := context.WithDeadline(ctx, began.Add(Lease))
	defer cancel()
	for !g.answeredSince(term, began) {
		if g.c.Raft.CurrentTerm() != term || !g.Wait(ctx, confirmPoll) {
			return false
		}
	}
	return true
}

// answeredSince reports whether most voters, this node among them, have answered a call of a term that was sent at or
// after began.
func (g *Group) answeredSince(term uint64, began time.Time) bool {
	all, answered := 0, 0
	for _, s := range g.servers() {
		if s.Suffrage != raft.Voter {
			continue
		}
		all++
		if s.ID == g.c.Self || !g.c.Transport.Acknowledged(s.ID, term).Before(began) {
			answered++
		}
	}
	return answered > all/2
}

// verifyLeader calls Raft's VerifyLeader. Raft answers from its main loop, which a slow disk may hold for longer than
// the caller waits. BOUND: as many goroutines as there are callers in the time after which the watchdog ends the
// process.
func (g *Group) verifyLeader(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() { answer <- g.Call(func() error { return g.c.Raft.VerifyLeader().Error() }) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
