// Package background bounds the work that one management request may cause and that no rate limit of requests bounds:
// reports, explanations and forecasts. Such work waits for its turn, runs in short slices beside auctions, ends within a
// slice of the end of its context, and is paid from a budget of its marketplace.
//
// DESIGN.md has the reasons for the numbers.
package background

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Kind is what work is for, as metrics name it.
type Kind uint8

// The kinds. None is work that is not bounded here.
const (
	None Kind = iota
	Report
	Explain
	Forecast
	Kinds = int(Forecast) + 1
)

var kindNames = [Kinds]string{"none", "report", "explain", "forecast"}

// String returns the name of the kind.
func (k Kind) String() string { return kindNames[k] }

// Limits are the bounds of a Scheduler. All must be positive.
type Limits struct {
	PerMarketplace int           // How many requests of a marketplace run at a time.
	PerNode        int           // How many run at a time in all. BOUND: of the memory that running requests hold.
	Waiting        int           // How many requests of a marketplace may wait.
	Wait           time.Duration // How long one waits at most.
	// Budget is the CPU time that a marketplace has per Window. It refills evenly. A request begins while any of it is
	// left, so that also one that needs more can be served, and what it takes beyond is missing from the next ones.
	Budget, Window time.Duration
	Run            time.Duration // How long a request runs at most, its pauses included.
}

// Defaults are the limits of a node. BOUND: 4 requests that run hold what four reports gather; 16 that wait are a page of a
// dashboard; 10 s of waiting and 40 s of running end before the management listener gives up writing, after 60 s.
var Defaults = Limits{
	PerMarketplace: 2, PerNode: 4, Waiting: 16, Wait: 10 * time.Second,
	Budget: 15 * time.Second, Window: time.Minute, Run: 40 * time.Second,
}

// ErrTooLong is returned by Step when a request has run for Limits.Run.
var ErrTooLong = errors.New("the request was stopped because it ran for too long")

// Refused is the error of Run when work was not begun.
type Refused struct {
	// Own says that the marketplace's own work or budget is the reason; otherwise it is the work of the whole node.
	Own   bool
	After time.Duration // When it is worth to ask again. Always positive.
	Why   string
}

// Error says why.
func (r *Refused) Error() string { return r.Why }

// Config is what a Scheduler is made of.
type Config struct {
	Limits
	// CPUs is how many the process may use; 0 is GOMAXPROCS.
	CPUs int
	// Traffic counts the auctions and events that the node has answered; nil: there are none. Work pauses after each slice
	// during which it moved.
	Traffic func() uint64
	Now     func() time.Time // With a monotonic reading. Nil is time.Now.
}

// Scheduler decides when work runs. It is safe for concurrent use. A nil Scheduler runs everything at once.
//
// Two things are shared out. A place is the right to run at all; waiting requests get free places in turn by marketplace,
// so one that sends a hundred requests delays another by one. A turn is the right to use a CPU for one slice; see turns. Every
// other management request takes one too, for as long as it computes (Turn).
type Scheduler struct {
	config Config
	turns  *turns

	mu           sync.Mutex
	running      int
	marketplaces map[uint16]*share // BOUND: 65,536 marketplaces, of 100 bytes.
	waiting      []uint16          // Marketplaces with waiting requests, the next to get a place first.
	stats        [Kinds]Stats
}

// share is what a marketplace has and has used.
type share struct {
	marketplace uint16

	running int
	queue   []*request // Oldest first.
	spent   time.Duration
	at      time.Time // When spent was last reduced by what has refilled.
}

type request struct {
	kind    Kind
	decided chan struct{} // Closed when it got a place or was refused.
	refused *Refused
}

// Stats are the counts of a kind.
type Stats struct {
	Running, Waiting int
	Refused          uint64
	CPU              time.Duration
}

// New returns a Scheduler.
func New(c Config) *Scheduler {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Traffic == nil {
		c.Traffic = func() uint64 { return 0 }
	}
	return &Scheduler{config: c, turns: newTurns(cmp.Or(c.CPUs, runtime.GOMAXPROCS(0)), c.Traffic, c.Now), marketplaces: make(map[uint16]*share)}
}

// Run runs work for a marketplace when it is its turn. work gets a context whose Work it has to step in its loops; Run
// returns what work returns, a *Refused when it was not begun, or the error of ctx.
func (s *Scheduler) Run(ctx context.Context, marketplace uint16, kind Kind, work func(context.Context) error) error {
	if s == nil || kind == None {
		return work(ctx)
	}
	m, err := s.admit(ctx, marketplace, kind)
	if err != nil {
		return err
	}
	defer s.leave(m, kind)
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.Run, ErrTooLong)
	defer cancel()
	w := &Work{scheduler: s, share: m, kind: kind}
	if err := w.begin(ctx); err != nil {
		return err
	}
	defer w.end()
	return work(context.WithValue(ctx, workKey{}, w))
}

// Stats returns the counts of a kind.
func (s *Scheduler) Stats(kind Kind) Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats[kind]
}

// admit waits for a place.
func (s *Scheduler) admit(ctx context.Context, marketplace uint16, kind Kind) (*share, error) {
	s.mu.Lock()
	m := s.marketplaces[marketplace]
	if m == nil {
		m = &share{marketplace: marketplace, at: s.config.Now()}
		s.marketplaces[marketplace] = m
	}
	r := &request{kind: kind, decided: make(chan struct{})}
	if len(m.queue) >= s.config.Waiting {
		err := s.refuse(r, &Refused{Own: true, After: s.config.Wait, Why: fmt.Sprintf(
			"%d reports, explanations and forecasts of this marketplace are waiting, which is the most", s.config.Waiting)})
		s.mu.Unlock()
		return nil, err
	}
	if len(m.queue) == 0 {
		s.waiting = append(s.waiting, marketplace)
	}
	m.queue = append(m.queue, r)
	s.stats[kind].Waiting++
	s.grant()
	s.mu.Unlock()

	timer := time.NewTimer(s.config.Wait)
	defer timer.Stop()
	select {
	case <-r.decided:
	case <-timer.C:
		s.withdraw(m, marketplace, r, s.late(m))
	case <-ctx.Done():
		if s.withdraw(m, marketplace, r, nil) {
			return nil, context.Cause(ctx)
		}
	}
	if r.refused != nil {
		return nil, r.refused
	}
	return m, nil
}
