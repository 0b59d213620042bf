package limits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Kind is the purpose of work. Its names are label values of metrics.
type Kind uint8

// The kinds. Work of the kind None is not bounded.
const (
	KindNone Kind = iota
	KindReport
	KindExplain
	KindForecast
	Kinds = int(KindForecast) + 1
)

var kindNames = [Kinds]string{"none", "report", "explain", "forecast"}

// String returns the name of the kind.
func (k Kind) String() string { return kindNames[k] }

// SchedulerLimits are the bounds of a Scheduler. All must be positive.
type SchedulerLimits struct {
	PerMarketplace int           // How many requests of a marketplace run at the same time.
	PerNode        int           // How many requests run at the same time on the node. BOUND: it bounds the memory of running requests.
	Waiting        int           // How many requests of a marketplace may wait for a permit.
	Wait           time.Duration // How long a request waits for a permit at most.
	// Budget is the CPU time that a marketplace has per Window. It refills evenly. A request begins while any of it is left,
	// so that a request that needs more can be served too; later requests wait until the excess has been refilled.
	Budget, Window time.Duration
	Run            time.Duration // How long a request runs at most, its pauses included.
}

// SchedulerDefaults are the limits of a node. BOUND: 4 running requests occupy the memory of four reports; 16 waiting requests are
// those of a dashboard page; 10 s of waiting and 40 s of running end before the write timeout of the management listener,
// 60 s.
var SchedulerDefaults = SchedulerLimits{
	PerMarketplace: 2, PerNode: 4, Waiting: 16, Wait: 10 * time.Second,
	Budget: 15 * time.Second, Window: time.Minute, Run: 40 * time.Second,
}

// DefaultShare is the Share of a node. BOUND: it is what two CPUs had left beside a third of their peak of auctions when the
// p99 of auctions was to stay within twice that without management requests (bench/results/2026-11-23-hostile.md).
const DefaultShare = 0.05

// ErrWorkTooLong is returned by Step when a request has run for Limits.Run.
var ErrWorkTooLong = errors.New("the request was stopped because it ran for too long")

// WorkRefused is the error of Run when the scheduler refuses to begin the work.
type WorkRefused struct {
	// Own reports whether the marketplace's own work or budget is the reason; otherwise it is the work of the whole node.
	Own   bool
	After time.Duration // After this time a new attempt may succeed. Always positive.
	Why   string        // The reason, for the client.
}

// Error returns the reason.
func (r *WorkRefused) Error() string { return r.Why }

// SchedulerConfig is the configuration of a Scheduler.
type SchedulerConfig struct {
	SchedulerLimits
	// CPUs is the number of CPUs that the process may use; 0 means GOMAXPROCS.
	CPUs int
	// Share is the share of the CPUs, above 0 and at most 1, that management requests use together while the node is busy with
	// auctions and events (busyRate); 0 means DefaultShare.
	Share float64
	// Traffic returns the number of auctions and events requests that the node has answered; nil means that there are none.
	// Work pauses after each slice during which the number has changed.
	Traffic func() uint64
	Now     func() time.Time // A clock with a monotonic reading; nil means time.Now.
	// Thread returns the CPU time that the calling thread has used, and whether the system knows it; nil means that of Linux. A
	// test on a clock of its own says that it is not known, so that the time of that clock counts.
	Thread func() (used time.Duration, known bool)
}

// Scheduler decides when work runs. It is safe for concurrent use. A nil Scheduler runs all work immediately.
//
// It gives out permits and turns. A permit is the right to run at all. Free permits go to the marketplaces with waiting
// requests in rotation, so one that sends a hundred requests delays the requests of another by one. A turn is the right to
// use a CPU for one slice; see turns. All other management requests take a turn too while they compute (Turn).
type Scheduler struct {
	config SchedulerConfig
	turns  *turns

	mu           sync.Mutex
	running      int
	marketplaces map[uint16]*usage // BOUND: 65,536 marketplaces of 100 bytes.
	waiting      []uint16          // The marketplaces with waiting requests; the first gets the next permit.
	stats        [Kinds]SchedulerStats
}

// usage is the running and waiting work of a marketplace and the CPU time that it has used.
type usage struct {
	marketplace uint16

	running int
	queue   []*request    // Oldest first.
	spent   time.Duration // The used CPU time that has not been refilled yet.
	at      time.Time     // The time up to which spent was refilled.
}

// request is a request that waits for a permit.
type request struct {
	kind    Kind
	decided chan struct{} // Closed when the request has a permit or was refused.
	refused *WorkRefused
}

// SchedulerStats are the counters of a kind.
type SchedulerStats struct {
	Running, Waiting int
	Refused          uint64
	CPU              time.Duration
}

// NewScheduler returns a Scheduler.
func NewScheduler(c SchedulerConfig) *Scheduler {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Traffic == nil {
		c.Traffic = func() uint64 { return 0 }
	}
	if c.Thread == nil {
		c.Thread = threadCPU
	}
	return &Scheduler{
		config: c, marketplaces: make(map[uint16]*usage),
		turns: newTurns(cmp.Or(c.CPUs, runtime.GOMAXPROCS(0)), cmp.Or(c.Share, DefaultShare), c.Traffic, c.Now),
	}
}

func (s *Scheduler) stopwatch() stopwatch {
	return stopwatch{now: s.config.Now, thread: s.config.Thread}
}

// Run waits for a permit and runs work for a marketplace. work gets a context with a Work that it must step in its loops. Run
// returns the error of work, a *Refused if the work was not begun, or the cause of the end of ctx.
func (s *Scheduler) Run(ctx context.Context, marketplace uint16, kind Kind, work func(context.Context) error) error {
	if s == nil || kind == KindNone {
		return work(ctx)
	}
	m, err := s.acquire(ctx, marketplace, kind)
	if err != nil {
		return err
	}
	defer s.release(m, kind)
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.Run, ErrWorkTooLong)
	defer cancel()
	w := &Work{scheduler: s, usage: m, kind: kind, watch: s.stopwatch()}
	if err := w.beginSlice(ctx); err != nil {
		return err
	}
	defer w.endSlice()
	return work(context.WithValue(ctx, workKey{}, w))
}

// Stats returns the counters of a kind.
func (s *Scheduler) Stats(kind Kind) SchedulerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats[kind]
}

// acquire waits for a permit.
func (s *Scheduler) acquire(ctx context.Context, marketplace uint16, kind Kind) (*usage, error) {
	s.mu.Lock()
	m := s.marketplaces[marketplace]
	if m == nil {
		m = &usage{marketplace: marketplace, at: s.config.Now()}
		s.marketplaces[marketplace] = m
	}
	r := &request{kind: kind, decided: make(chan struct{})}
	if len(m.queue) >= s.config.Waiting {
		err := s.refuse(r, &WorkRefused{Own: true, After: s.config.Wait, Why: fmt.Sprintf(
			"%d reports, explanations and forecasts of this marketplace are waiting, which is the limit", s.config.Waiting)})
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
		s.withdraw(m, marketplace, r, s.timedOut(m))
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
