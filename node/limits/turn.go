package limits

import (
	"context"
	"time"
)

// resumeMax is how long a request waits to continue after it has waited for something else. BOUND: it may hold what another
// request waits for with a turn; then one runs more than there are turns.
const resumeMax = 10 * time.Second

// Turn is the right of one management request to use a CPU. It belongs to one goroutine. A nil Turn is always held.
type Turn struct {
	turns       *turns
	marketplace uint16
	pool        *pool // Of the turn that is held.
	held        bool
	begun       bool // It was held before.
	watch       stopwatch
}

// NewTurn returns the turn of a request, not taken yet. That of a nil Scheduler is nil.
func (s *Scheduler) NewTurn(marketplace uint16) *Turn {
	if s == nil {
		return nil
	}
	return &Turn{turns: s.turns, marketplace: marketplace, watch: s.stopwatch()}
}

// Take waits until the request may use a CPU. An error is that of ctx, and then it may not.
func (t *Turn) Take(ctx context.Context) error {
	if t == nil || t.held {
		return nil
	}
	p, err := t.turns.take(ctx, t.marketplace, t.begun)
	if err != nil {
		return err
	}
	t.pool, t.held, t.begun = p, true, true
	t.watch.start()
	return nil
}

// Give returns the turn if it is held.
func (t *Turn) Give() {
	if t != nil && t.held {
		t.held = false
		t.turns.give(t.pool, t.marketplace, t.watch.stop())
	}
}

// Turns returns how many management requests wait for a turn, and the CPU time that was used with turns since the start. That of
// reports, explanations and forecasts is included.
func (s *Scheduler) Turns() (waiting int, used time.Duration) {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	for _, m := range s.turns.waiting {
		d := s.turns.marketplaces[m]
		waiting += len(d.continued) + len(d.begin)
	}
	return waiting, s.turns.used
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

// Waiting returns the turn of a request while the request waits for something else than a CPU, such as a commit. The
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
