// Package leadership follows which node leads a Raft group and whether this node is ready to, confirms that it leads
// for reads, and moves the leadership to another node. It also keeps two defects of hashicorp/raft v1.8.0 from blocking
// a group: transfers that never end, and heartbeat timers that are checked late.
package leadership

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

const (
	// Timeout is how long a follower waits for its leader before it campaigns; Raft may wait up to twice as
	// long.
	//
	// Heartbeats queue behind disk writes (see transport.Safe), so a follower whose disk stalls this long checks its
	// timer before it reads the heartbeats that arrived meanwhile. That is harmless: it asks for pre-votes, the others
	// have a leader and refuse, and the next call of the leader makes it a follower again. A leader whose own disk
	// stalls goes on sending heartbeats from other goroutines. Only a majority of stalled followers unseats a leader,
	// by Lease, and these timers do not shorten it.
	Timeout = 1 * time.Second
	// Lease is how long a leader that no majority answers goes on leading. REQUIRES: at most Timeout.
	Lease = 1 * time.Second
	// Stagger is added to the timeout for each voter that is preferred as leader of the group. So groups do not
	// all campaign at once, two nodes seldom campaign for the same group, and the preferred node is most often the
	// first.
	Stagger = 100 * time.Millisecond
)

// Config is what a Group needs. All fields are required.
type Config struct {
	Group     uint16
	Self      raft.ServerID
	Raft      *raft.Raft
	Transport transport.Safe
	Heartbeat time.Duration   // Raft's heartbeat timeout and election timeout.
	Context   context.Context // Ends when the store closes.
	Exit      *fatal.Exit
	Logger    *slog.Logger
	// Gained is called each time this node has gained the leadership and applied everything from before its term.
	Gained func()
}

// Group follows the leadership of one Raft group on this node. Its methods are safe for concurrent use.
type Group struct {
	c         Config
	opened    time.Time
	transfers transferGuard
	calls     sync.WaitGroup // Calls of Raft that Call waits for.
	terms     atomic.Uint64  // Number of terms in which this node knew a leader.

	mu             sync.Mutex
	term           uint64        // The term in which this node is ready as leader; 0: it is not ready.
	readyChangedAt time.Time     // When term last changed.
	change         chan struct{} // Closed and replaced when term or the leader changes.
	closed         bool
}

// New returns a group whose leadership is not known yet.
func New(c Config) *Group {
	return &Group{c: c, opened: time.Now(), change: make(chan struct{})}
}

// FollowNotices keeps Ready in step with Raft's notices of leadership until their channel is closed. After each gain it
// waits until everything from before the term is applied. NotifyCh must be drained: it has room for eight notices, and
// then Raft's main loop waits for this goroutine (TestUnreadNoticesStillBlockTheLibrary). So a node whose state machine
// stands still while it gains and loses a group five times does not vote until the machine goes on; the other nodes go
// on without it (TestManyNoticesWhileTheirReaderWaits).
func (g *Group) FollowNotices(notices <-chan bool) {
	for leads := range notices {
		if !leads {
			g.setReady(0)
			g.transfers.leadershipLost()
			continue
		}
		term := g.c.Raft.CurrentTerm()
		// A leader serves when everything committed before its term is applied.
		if err := g.barrier(); errors.Is(err, proposal.ErrClosed) {
			continue
		} else if err != nil {
			g.c.Logger.Warn("leadership_lost_early", slog.Int("group", int(g.c.Group)), slog.Any("err", err))
			continue
		}
		if g.c.Raft.State() == raft.Leader && g.c.Raft.CurrentTerm() == term {
			g.setReady(term)
		}
		g.c.Gained()
	}
}

// FollowLeaders wakes the goroutines that wait for a leader as soon as this node knows one, and counts the terms with a
// leader, until the channel of Raft's observations is closed.
func (g *Group) FollowLeaders(observations <-chan raft.Observation) {
	var last uint64
	for o := range observations {
		if seen, ok := o.Data.(raft.LeaderObservation); ok && seen.LeaderID != "" {
			if term := g.c.Raft.CurrentTerm(); term != last {
				last = term
				g.terms.Add(1)
			}
			g.mu.Lock()
			g.notifyChange()
			g.mu.Unlock()
		}
	}
}

// notifyChange wakes everybody who waits for Changed. REQUIRES: mu is held.
func (g *Group) notifyChange() {
	close(g.change)
	g.change = make(chan struct{})
}

// Changed returns a channel that is closed when this node learns of a leader, or gains or loses the leadership.
func (g *Group) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.change
}

// Since is the time at which this node became ready as leader, or lost that.
func (g *Group) Since() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.readyChangedAt
}

// Call calls ask unless the group is closed, in which case it returns proposal.ErrClosed. Raft never answers a call
// that was made just before its shutdown, so WaitCalls must be called before it. REQUIRES: ask returns as long as Raft
// runs.
func (g *Group) Call(ask func() error) error {
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.calls.Add(1)
		defer g.calls.Done()
	}
	g.mu.Unlock()
	if closed {
		return proposal.ErrClosed
	}
	return ask()
}

func (g *Group) setReady(term uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.term, g.readyChangedAt = term, time.Now()
	g.notifyChange()
}

// Ready reports whether this node leads the group and has applied everything from before its term, so that it takes
// commands.
func (g *Group) Ready() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.term != 0 && !g.closed
}

// WaitReady waits until this node is Ready. It returns ErrClosed when the store closes and ctx.Err when ctx ends first.
// On a follower it may wait for ever; another node may lead.
func (g *Group) WaitReady(ctx context.Context) error {
	for {
		g.mu.Lock()
		ready, closed, change := g.term != 0, g.closed, g.change
		g.mu.Unlock()
		if closed {
			return proposal.ErrClosed
		}
		if ready {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// State returns whether this node is ready as leader, and whether the group is closed.
func (g *Group) State() (ready, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.term != 0, g.closed
}

// Terms is the number of terms in which this node knew a leader, itself included, since the start.
func (g *Group) Terms() uint64 { return g.terms.Load() }

// Address returns the address of the leader, as far as this node knows, or "".
func (g *Group) Address() string {
	address, _ := g.c.Raft.LeaderWithID()
	return string(address)
}

// NoContact reports whether no leader called this node for a time, and it does not lead itself.
func (g *Group) NoContact(limit time.Duration) bool {
	if g.Ready() {
		return false
	}
	contact, _ := g.c.Transport.LeaderContact()
	if contact.Before(g.opened) {
		contact = g.opened
	}
	return time.Since(contact) > limit
}

// Wait waits for d, or until this node learns of a leader. It returns false when ctx or the store ended.
func (g *Group) Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.Changed():
	case <-ctx.Done():
		return false
	case <-g.c.Context.Done():
		return false
	}
	return ctx.Err() == nil
}

// pause waits for d, or until the store closes.
func (g *Group) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.c.Context.Done():
	}
}

// Close makes Call and WaitReady return ErrClosed. WaitCalls then waits for the calls that are under way, which end as
// long as Raft runs.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.notifyChange()
}

// WaitCalls waits for the calls of Raft that began before Close.
func (g *Group) WaitCalls() { g.calls.Wait() }
