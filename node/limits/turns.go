package limits

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// trafficWindow is how long the count of auctions and events must stand still until management requests may use every CPU.
	trafficWindow = 50 * time.Millisecond
	// resumeMax is how long a request waits to go on after it has waited for something else. BOUND: it may hold what another
	// request waits for with a turn, as two requests with one Idempotency-Key do; then one runs more than there are turns.
	resumeMax = time.Second
	// restMin is a use of a turn that is too short to be followed by a rest, and restMax bounds a rest. BOUND: one request that
	// computes for a second must not keep all others from computing for another one.
	restMin, restMax = 200 * time.Microsecond, 100 * time.Millisecond
)

// turns share out the CPUs that management requests use. The Go runtime knows no priorities: ten requests that each parse
// megabytes of JSON would let every auction wait in line behind ten time slices of 10 ms. While the node answers auctions or
// events there is one turn fewer than the process has CPUs, and at least one; otherwise there are as many as CPUs.
//
// With traffic, a turn rests after each use for as long as it was used, so that management requests take half of those CPUs.
//
// Requests that go on come before those that begin: what they still have to do is little, and they hold memory. Those that
// begin get a turn in the order of marketplaces, one after the other, and within a marketplace in the order of asking. So a
// marketplace with a hundred requests delays one of another marketplace by one request.
type turns struct {
	busy, idle int // How many there are with traffic and without.
	traffic    func() uint64
	now        func() time.Time

	mu      sync.Mutex
	taken   int
	begun   []chan struct{}            // Of requests that have waited for something else; they come first, in the order of asking.
	queues  map[uint16][]chan struct{} // Of those who wait; a turn is given by closing.
	order   []uint16                   // Marketplaces with a queue, the next one first.
	counted uint64                     // Of traffic, at the time of sampled.
	sampled time.Time
	moving  bool // There was traffic in the window before.
}

func newTurns(cpus int, traffic func() uint64, now func() time.Time) *turns {
	return &turns{busy: max(1, cpus-1), idle: cpus, traffic: traffic, now: now, queues: map[uint16][]chan struct{}{}}
}

// take waits for a turn, of a request that begins or one that goes on. A free one is given also when ctx has ended: a client
// that has closed its sending side may still read. An error is that of ctx, and then there is no turn.
func (t *turns) take(ctx context.Context, marketplace uint16, begun bool) error {
	t.mu.Lock()
	if (begun || len(t.order) == 0) && len(t.begun) == 0 && t.taken < t.limit() {
		t.taken++
		t.mu.Unlock()
		return nil
	}
	given := make(chan struct{})
	switch {
	case begun:
		t.begun = append(t.begun, given)
	case len(t.queues[marketplace]) == 0:
		t.order = append(t.order, marketplace)
		fallthrough
	default:
		t.queues[marketplace] = append(t.queues[marketplace], given)
	}
	t.mu.Unlock()
	select {
	case <-given:
		return nil
	case <-ctx.Done():
		t.withdraw(marketplace, given)
		return context.Cause(ctx)
	}
}

// withdraw gives up waiting. A turn that was given meanwhile goes to the next.
func (t *turns) withdraw(marketplace uint16, given chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.begun, given); at >= 0 {
		t.begun = slices.Delete(t.begun, at, at+1)
		return
	}
	at := slices.Index(t.queues[marketplace], given)
	if at < 0 {
		t.taken--
		t.pass()
		return
	}
	t.queues[marketplace] = slices.Delete(t.queues[marketplace], at, at+1)
	if len(t.queues[marketplace]) == 0 {
		delete(t.queues, marketplace)
		t.order = slices.DeleteFunc(t.order, func(m uint16) bool { return m == marketplace })
	}
}

// give gives a turn back.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	t.pass()
}

// giveAfter gives a turn back that was used for so long, with traffic after a rest.
func (t *turns) giveAfter(used time.Duration) {
	t.mu.Lock()
	rests := used >= restMin && t.limit() < t.idle
	t.mu.Unlock()
	if rests {
		time.AfterFunc(min(used, restMax), t.give)
		return
	}
	t.give()
}

// pass gives free turns to those who wait. LOCKS: mu is held.
func (t *turns) pass() {
	for len(t.begun) > 0 && t.taken < t.limit() {
		t.taken++
		close(t.begun[0])
		t.begun = t.begun[1:]
	}
	for len(t.order) > 0 && t.taken < t.limit() {
		m := t.order[0]
		t.order = t.order[1:]
		next := t.queues[m][0]
		if t.queues[m] = t.queues[m][1:]; len(t.queues[m]) > 0 {
			t.order = append(t.order, m)
		} else {
			delete(t.queues, m)
		}
		t.taken++
		close(next)
	}
}

// limit is how many turns there are now. LOCKS: mu is held.
func (t *turns) limit() int {
	if now := t.now(); now.Sub(t.sampled) >= trafficWindow {
		counted := t.traffic()
		t.moving, t.counted, t.sampled = counted != t.counted, counted, now
	}
	if t.moving {
		return t.busy
	}
	return t.idle
}

// Turn is the right of one management request to use a CPU. It belongs to one goroutine. A nil Turn is always held.
type Turn struct {
	turns       *turns
	marketplace uint16
	held        bool
	begun       bool // It was held before.
	since       time.Time
}

// NewTurn returns the turn of a request, not taken yet. That of a nil Scheduler is nil.
func (s *Scheduler) NewTurn(marketplace uint16) *Turn {
	if s == nil {
		return nil
	}
	return &Turn{turns: s.turns, marketplace: marketplace}
}

// Take waits until the request may use a CPU. An error is that of ctx, and then it may not.
func (t *Turn) Take(ctx context.Context) error {
	if t == nil || t.held {
		return nil
	}
	if err := t.turns.take(ctx, t.marketplace, t.begun); err != nil {
		return err
	}
	t.held, t.begun, t.since = true, true, t.turns.now()
	return nil
}

// Give gives the turn back, if it is held.
func (t *Turn) Give() {
	if t != nil && t.held {
		t.held = false
		t.turns.giveAfter(t.turns.now().Sub(t.since))
	}
}

type turnKey struct{}

// WithTurn returns a context whose work uses the turn of a request.
func WithTurn(ctx context.Context, t *Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// TurnOf returns the turn of the request that a context belongs to, or nil.
func TurnOf(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Waiting gives the turn of a request back while the request waits for something else than a CPU, such as a commit. The
// function that it returns takes the turn again; it returns without one after resumeMax, or when ctx has ended.
func Waiting(ctx context.Context) (resume func()) {
	t := TurnOf(ctx)
	if t == nil || !t.held {
		return func() {}
	}
	t.Give()
	return func() {
		ctx, cancel := context.WithTimeout(ctx, resumeMax)
		defer cancel()
		_ = t.Take(ctx) // Without one the request goes on and ends.
	}
}
