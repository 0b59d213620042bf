package leadership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// transferRetryAfter is how long a follower that did not take a leadership in time is not tried again in the same
	// term: much longer than the library waits for the follower's answer (10 s) and before it asks again (10 s).
	transferRetryAfter = time.Minute
	// transferStuck is the time of nothing but refusals after which a transfer counts as stuck. A transfer lasts two
	// election timeouts at most.
	transferStuck = 10 * time.Second
	// refusalResetAfter is the time without an answer of Raft after which refusals are counted anew: they may belong to
	// two transfers.
	refusalResetAfter = 2 * time.Second
	barrierPause      = 100 * time.Millisecond // Between two attempts of a call that Raft refuses during a transfer.
)

var errTransferPending = errors.New("the last transfer to it in this term did not end, so it is not tried again yet")

// transferGuard keeps transfers of leadership from blocking a group for ever.
//
// In hashicorp/raft v1.8.0 a transfer to a follower that is behind leaves a request with the goroutine that replicates
// to it, gives up after the election timeout, and the request stays. While that goroutine waits for the follower, a
// second transfer waits for the first one's request to be taken; if the leadership is lost meanwhile it waits for ever,
// because the goroutine is gone. Then the flag that a transfer is under way is never cleared. The node refuses every
// command, also when it leads again, which blocks the group: it has a leader that sends heartbeats.
// TestTransfersToAnAbsentFollower shows it.
//
// So the same follower is not tried twice in a term before the request must have been taken, and a leader that refuses
// for transferStuck because of a transfer ends its process.
type transferGuard struct {
	mu       sync.Mutex
	tried    map[raft.ServerID]time.Time // BOUND: the voters of one term.
	term     uint64                      // The term of the transfers in tried.
	refusing time.Time                   // When the refusals began; zero: there are none.
	refused  time.Time                   // When the newest refusal came.
}

// begin records a transfer, or returns an error when it must not be tried yet.
func (t *transferGuard) begin(term uint64, to raft.ServerID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term != term || t.tried == nil {
		t.term, t.tried = term, map[raft.ServerID]time.Time{}
	}
	if at, found := t.tried[to]; found && time.Since(at) < transferRetryAfter {
		return errTransferPending
	}
	t.tried[to] = time.Now()
	return nil
}

// end records the outcome of a transfer. It leaves no request behind when Raft got as far as calling the follower
// (called), or did not begin.
func (t *transferGuard) end(term uint64, to raft.ServerID, err error, called bool) {
	clean := err == nil || called || errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress)
	t.mu.Lock()
	defer t.mu.Unlock()
	if clean && t.term == term {
		delete(t.tried, to)
	}
}

// noteAnswer records Raft's answer to a command. It returns true when Raft has refused for so long that it always will.
func (t *transferGuard) noteAnswer(err error) (stuck bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		t.refusing = time.Time{}
		return false
	}
	now := time.Now()
	if t.refusing.IsZero() || now.Sub(t.refused) > refusalResetAfter {
		t.refusing = now
	}
	t.refused = now
	return now.Sub(t.refusing) > transferStuck
}

// leadershipLost forgets the refusals of a leadership that is gone.
func (t *transferGuard) leadershipLost() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusing = time.Time{}
}

// TransferTo gives the leadership to a voter. It returns an error of Raft, or one that says that the voter did not take
// the last transfer in this term and is not tried again yet.
func (g *Group) TransferTo(to raft.Server) error {
	term := g.c.Raft.CurrentTerm()
	if err := g.transfers.begin(term, to.ID); err != nil {
		return fmt.Errorf("%s: %w", transport.NodeOf(to.ID), err)
	}
	failed := g.c.Transport.TimeoutNowFailures(to.ID)
	err := g.c.Raft.LeadershipTransferToServer(to.ID, to.Address).Error()
	// Raft has no error value for a call of the follower that failed, but the call went through the transport.
	g.transfers.end(term, to.ID, err, g.c.Transport.TimeoutNowFailures(to.ID) > failed)
	return err
}

// NoteAnswer ends the process when Raft refuses commands because of a transfer that never ends.
func (g *Group) NoteAnswer(err error) {
	if g.transfers.noteAnswer(err) {
		g.c.Exit.NowWithAdvice("raft is stuck in a transfer of leadership", "restart the process; its storage is in order",
			fmt.Errorf("group %d: %w", g.c.Group, err))
	}
}

// barrier waits until everything from before this node's term is applied, also while a transfer is under way.
func (g *Group) barrier() error {
	return g.retryDuringTransfer(func() error {
		err := g.c.Raft.Barrier(0).Error()
		g.NoteAnswer(err)
		return err
	})
}

// retryDuringTransfer repeats a call of Raft while Raft refuses it because of a transfer, until the store closes.
func (g *Group) retryDuringTransfer(ask func() error) error {
	for {
		err := g.Call(ask)
		if !errors.Is(err, raft.ErrLeadershipTransferInProgress) || g.c.Raft.State() != raft.Leader {
			return err
		}
		g.c.Logger.Debug("leadership_transfer_pending", slog.Int("group", int(g.c.Group)))
		g.pause(barrierPause)
		if g.c.Context.Err() != nil { // pause returns at once from here on.
			return proposal.ErrClosed
		}
	}
}

// TransferAway transfers the leadership to the first of the other voters that takes it. It returns
// the error of the last one that was tried, or an error when there is no other voter.
func (g *Group) TransferAway() error {
	err := errors.New("there is no other voter")
	for _, v := range g.successors() {
		if err = g.TransferTo(v); err == nil {
			break
		}
	}
	return err
}

// TransferAwayWithin is TransferAway for callers that may have less time than Raft takes. The transfer goes on after
// they left. It returns ErrClosed
// or ctx.Err, too. BOUND: one goroutine for each call.
func (g *Group) TransferAwayWithin(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() { answer <- g.Call(g.TransferAway) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// servers returns a copy of the servers of this node's newest configuration.
func (g *Group) servers() []raft.Server {
	return slices.Clone(g.c.Raft.GetConfiguration().Configuration().Servers)
}

// successors returns the other voters, those that answered most recently first.
func (g *Group) successors() []raft.Server {
	others := slices.DeleteFunc(g.servers(), func(s raft.Server) bool {
		return s.Suffrage != raft.Voter || s.ID == g.c.Self
	})
	slices.SortFunc(others, func(a, b raft.Server) int {
		return g.c.Transport.PeerContact(b.ID).Compare(g.c.Transport.PeerContact(a.ID))
	})
	return others
}
