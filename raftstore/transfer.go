package raftstore

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// transferRest is how long a follower that did not take a leadership in time is not offered it again in the same term: much
	// longer than the library waits for an answer of the follower (10 s) and before it asks again (10 s).
	transferRest = time.Minute
	// transferStuck is after how long of nothing but refusals a transfer is taken to be stuck. One lasts for two timeouts at most.
	transferStuck = 10 * time.Second
	// refusalGap is after how long without an answer the refusals are counted anew: nothing says that they are of one transfer.
	refusalGap   = 2 * time.Second
	barrierPause = 100 * time.Millisecond
)

var errTransferRests = errors.New("the last transfer to it in this term did not come to its end")

// transfers keep the transfers of leadership of a group from wedging it.
//
// In hashicorp/raft v1.8.0 a transfer to a follower that is behind leaves a request with the thread that replicates to it, gives up
// after the election timeout, and the request stays. While that thread waits for the follower, a second transfer waits for the
// first one's request to be taken, without an end when the leadership is lost meanwhile: the thread is gone. Then the
// flag that a transfer goes on is never taken back. The node refuses every command, and goes on to refuse them when it
// leads again, which wedges the group: it has a leader that heartbeats. A test makes it happen.
//
// So the same follower is not tried twice in a term before the request must have been taken, and a leader that refuses for long
// because of a transfer ends its process.
type transfers struct {
	mu       sync.Mutex
	tried    map[raft.ServerID]time.Time // BOUND: the voters of one term.
	term     uint64                      // Of those in tried.
	refusing time.Time                   // When the refusals began; zero: there are none.
	refused  time.Time                   // When the newest one came.
}

// begin notes a transfer, or returns that it has to wait.
func (t *transfers) begin(term uint64, to raft.ServerID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term != term || t.tried == nil {
		t.term, t.tried = term, map[raft.ServerID]time.Time{}
	}
	if at, found := t.tried[to]; found && time.Since(at) < transferRest {
		return errTransferRests
	}
	t.tried[to] = time.Now()
	return nil
}

// end notes the outcome. Where raft got as far as to ask the follower, or not even to try, nothing is left behind.
func (t *transfers) end(term uint64, to raft.ServerID, err error) {
	clean := err == nil || errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) ||
		strings.HasPrefix(err.Error(), "failed to make TimeoutNow RPC")
	t.mu.Lock()
	defer t.mu.Unlock()
	if clean && t.term == term {
		delete(t.tried, to)
	}
}

// answered notes what raft said to a command; true: it has refused for so long that it always will.
func (t *transfers) answered(err error) (stuck bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		t.refusing = time.Time{}
		return false
	}
	now := time.Now()
	if t.refusing.IsZero() || now.Sub(t.refused) > refusalGap {
		t.refusing = now
	}
	t.refused = now
	return now.Sub(t.refusing) > transferStuck
}

// lost notes that the leadership is gone, with whatever refused in it.
func (t *transfers) lost() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusing = time.Time{}
}

// handTo gives the leadership to a voter.
func (g *Group) handTo(to raft.Server) error {
	term := g.raft.CurrentTerm()
	if err := g.transfers.begin(term, to.ID); err != nil {
		return fmt.Errorf("%s: %w", nodeOf(to.ID), err)
	}
	err := g.raft.LeadershipTransferToServer(to.ID, to.Address).Error()
	g.transfers.end(term, to.ID, err)
	return err
}

// answered ends the process when raft refuses commands because of a transfer that never ends.
func (g *Group) answered(err error) {
	if g.transfers.answered(err) {
		g.store.exit.NowWith("raft is stuck in a transfer of leadership", "restart it; its storage is well", fmt.Errorf("group %d: %w", g.id, err))
	}
}

// leadBarrier waits until everything from before this node's term is applied, and through a transfer.
func (g *Group) leadBarrier() error {
	return g.throughTransfer(func() error {
		err := g.raft.Barrier(0).Error()
		g.answered(err)
		return err
	})
}

// throughTransfer asks raft again and again while it refuses because of a transfer, until the store closes.
func (g *Group) throughTransfer(ask func() error) error {
	for {
		err := g.whileOpen(ask)
		if !errors.Is(err, raft.ErrLeadershipTransferInProgress) || g.raft.State() != raft.Leader {
			return err
		}
		g.store.c.Logger.Debug("a transfer of leadership goes on", slog.Int("group", int(g.id)))
		g.store.pause(barrierPause)
		if g.store.life.Err() != nil { // No pause is one any more.
			return ErrClosed
		}
	}
}
