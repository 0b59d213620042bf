package limits

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// testScheduler is a Scheduler in a synctest bubble with one turn. Its CPU time advances only by worked.
type testScheduler struct {
	*Scheduler
	worked  atomic.Int64 // In nanoseconds.
	traffic atomic.Uint64
	wait    sync.WaitGroup

	mu      sync.Mutex
	running map[uint16]int
	most    map[uint16]int // The most that ran at the same time, by marketplace; 0 is all marketplaces.
	order   []string
}

func newTestScheduler(l SchedulerLimits) *testScheduler {
	b := &testScheduler{running: map[uint16]int{}, most: map[uint16]int{}}
	b.Scheduler = NewScheduler(SchedulerConfig{
		Thread:          unknownThread,
		SchedulerLimits: l, Traffic: b.traffic.Load, Share: 1, // So that a turn rests for less than the work pauses.
		Now: func() time.Time { return time.Now().Add(time.Duration(b.worked.Load())) },
	})
	b.turns.cpus = 1
	return b
}

var small = SchedulerLimits{
	PerMarketplace: 2, PerNode: 3, Waiting: 4, Wait: 10 * time.Second, Budget: 15 * time.Second, Window: time.Minute, Run: 40 * time.Second,
}

// start runs work of so many steps of 100 µs. Before each step it blocks for a time, as if it read from a disk.
func (b *testScheduler) start(t *testing.T, marketplace uint16, name string, steps int, block time.Duration) {
	b.wait.Go(func() {
		err := b.Run(t.Context(), marketplace, KindReport, func(ctx context.Context) error {
			b.enter(marketplace, name, 1)
			defer b.enter(marketplace, "", -1)
			for range steps {
				time.Sleep(block)
				if err := b.step(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if refused, ok := errors.AsType[*WorkRefused](err); ok {
			b.enter(marketplace, fmt.Sprintf("%s refused own=%t", name, refused.Own), 0)
		} else if err != nil {
			t.Error(err)
		}
	})
}

func (b *testScheduler) enter(marketplace uint16, name string, delta int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range []uint16{0, marketplace} {
		b.running[m] += delta
		b.most[m] = max(b.most[m], b.running[m])
	}
	if name != "" {
		b.order = append(b.order, name)
	}
}

// step is 100 µs of work.
func (b *testScheduler) step(ctx context.Context) error {
	b.worked.Add(int64(100 * time.Microsecond))
	return WorkOf(ctx).Step(ctx)
}

func TestAtMostSoManyRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := small
		l.Waiting = 5
		b := newTestScheduler(l)
		for i := range 5 {
			for marketplace := range uint16(3) {
				b.start(t, marketplace+1, fmt.Sprint(marketplace+1), 3+i, time.Millisecond)
			}
		}
		b.wait.Wait()
		if b.most[0] != 3 || b.most[1] > 2 || b.most[2] > 2 || b.most[3] > 2 || len(b.order) != 15 {
			t.Errorf("%v ran at a time, begun %v", b.most, b.order)
		}
		if s := b.Stats(KindReport); s.Running != 0 || s.Waiting != 0 || s.Refused != 0 || s.CPU <= 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestPermitsRotateByMarketplace checks that a marketplace with many requests delays another one by at most one of them.
func TestPermitsRotateByMarketplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := small
		l.PerNode, l.PerMarketplace = 1, 1
		b := newTestScheduler(l)
		for i := range 5 {
			b.start(t, 1, fmt.Sprint("a", i), 20, time.Millisecond)
			synctest.Wait()
		}
		b.start(t, 2, "b0", 20, time.Millisecond)
		synctest.Wait()
		b.start(t, 2, "b1", 20, time.Millisecond)
		b.wait.Wait()
		if got, want := strings.Join(b.order, " "), "a0 a1 b0 a2 b1 a3 a4"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

// TestTurnsAreShared checks that two marketplaces that compute without end get the same CPU time.
func TestTurnsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestScheduler(small)
		var steps [3]atomic.Int64
		var begun atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, marketplace := range []uint16{1, 2} {
			b.wait.Go(func() {
				_ = b.Run(ctx, marketplace, KindExplain, func(ctx context.Context) error {
					begun.Add(1)
					for {
						if begun.Load() == 2 && steps[marketplace].Add(1) == 10_000 {
							cancel()
						}
						time.Sleep(100 * time.Microsecond) // Sleeping lets the other goroutine ask for a turn in time.
						if err := WorkOf(ctx).Step(ctx); err != nil {
							return err
						}
					}
				})
			})
		}
		b.wait.Wait()
		if a, c := steps[1].Load(), steps[2].Load(); min(a, c) < 9_900 {
			t.Errorf("%d and %d steps", a, c)
		}
	})
}

// TestStoppedWithinASlice checks that work ends within a slice when its context is cancelled or it has run for too long.
func TestStoppedWithinASlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestScheduler(small)
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		work := func(ctx context.Context) error {
			for {
				if steps++; steps == 1_005 {
					cancel()
				}
				if err := b.step(ctx); err != nil {
					return err
				}
			}
		}
		if err := b.Run(ctx, 1, KindReport, work); !errors.Is(err, context.Canceled) || steps > 1_005+int(workSlice/(100*time.Microsecond)) {
			t.Errorf("%d steps, %v", steps, err)
		}
		if err := b.Run(ctx, 1, KindReport, work); !errors.Is(err, context.Canceled) || steps > 1_015 {
			t.Errorf("it began: %d steps, %v", steps, err)
		}
		b.traffic.Add(1) // With traffic work pauses, and the clock of the bubble advances.
		err := b.Run(t.Context(), 1, KindReport, func(ctx context.Context) error {
			for {
				b.traffic.Add(1)
				if err := b.step(ctx); err != nil {
					if again := b.step(ctx); !errors.Is(again, ErrWorkTooLong) {
						t.Errorf("after the end: %v", again)
					}
					return err
				}
			}
		})
		if !errors.Is(err, ErrWorkTooLong) {
			t.Error(err)
		}
	})
}

// TestBudget checks that a request may overdraw the budget of its marketplace, that the next ones are refused until the
// budget is refilled, and that another marketplace is not affected.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestScheduler(small)
		heavy := func(ctx context.Context) error {
			for range 200 {
				b.worked.Add(int64(100 * time.Millisecond))
				if err := WorkOf(ctx).Step(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		ask := func(marketplace uint16) (refused *WorkRefused) {
			t.Helper()
			err := b.Run(t.Context(), marketplace, KindForecast, func(context.Context) error { return nil })
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return refused
		}
		if err := b.Run(t.Context(), 1, KindForecast, heavy); err != nil { // It uses 20 s, and 5 s are refilled meanwhile.
			t.Fatal(err)
		}
		refused := ask(1)
		if refused == nil || !refused.Own || refused.After < 5*time.Second || refused.After > 8*time.Second {
			t.Fatalf("%+v", refused)
		}
		if other := ask(2); other != nil {
			t.Errorf("another marketplace: %v", other)
		}
		time.Sleep(refused.After)
		if refused = ask(1); refused != nil {
			t.Errorf("after the wait: %v", refused)
		}
		if s := b.Stats(KindForecast); s.Refused != 1 || s.CPU != 20*time.Second {
			t.Errorf("%+v", s)
		}
	})
}

// TestWaitingIsBounded checks that waiting is bounded in number and time, and that a refusal says whose work is the reason.
func TestWaitingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestScheduler(small)
		for i := range 3 { // Two requests of marketplace 1 and one of 2 have all permits.
			b.start(t, uint16(1+i/2), "", 1, 12*time.Second)
		}
		synctest.Wait()
		began := time.Now()
		for i := range 5 {
			b.start(t, 1, fmt.Sprint("a", i), 1, 0)
			synctest.Wait()
		}
		b.start(t, 3, "c", 1, 0)
		synctest.Wait()
		if got := strings.Join(b.order, " "); got != "a4 refused own=true" || b.Stats(KindReport).Waiting != 5 {
			t.Errorf("%s, %+v", got, b.Stats(KindReport))
		}
		time.Sleep(small.Wait)
		synctest.Wait()
		if took := time.Since(began); took != small.Wait || b.Stats(KindReport).Waiting != 0 {
			t.Errorf("after %v: %+v", took, b.Stats(KindReport))
		}
		b.wait.Wait()
		if got := strings.Join(b.order, " "); strings.Count(got, "refused own=true") != 5 || !strings.Contains(got, "c refused own=false") {
			t.Error(got)
		}
	})
}

// TestPausesWhileThereIsTraffic checks that work uses a third of the time while there is traffic, and does not pause without.
func TestPausesWhileThereIsTraffic(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newTestScheduler(small)
			began := time.Now()
			if err := b.Run(t.Context(), 1, KindReport, func(ctx context.Context) error {
				for range 1_000 {
					if busy {
						b.traffic.Add(1)
					}
					if err := b.step(ctx); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			want := time.Duration(0)
			if busy {
				want = pauseFactor * 100 * time.Millisecond
			}
			if paused := time.Since(began); paused != want {
				t.Errorf("traffic %t: paused for %v, want %v", busy, paused, want)
			}
		})
	}
}

// TestWithoutScheduler checks that without a Scheduler, and for the kind None, work runs with its context alone.
func TestWithoutScheduler(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var s *Scheduler
	if err := s.Run(ctx, 1, KindReport, func(ctx context.Context) error { return WorkOf(ctx).Step(ctx) }); err != nil {
		t.Error(err)
	}
	cancel()
	if err := NewScheduler(SchedulerConfig{SchedulerLimits: small}).Run(ctx, 1, KindNone, func(ctx context.Context) error { return WorkOf(ctx).Step(ctx) }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func BenchmarkStep(b *testing.B) {
	b.ReportAllocs()
	_ = NewScheduler(SchedulerConfig{SchedulerLimits: small}).Run(b.Context(), 1, KindReport, func(ctx context.Context) error {
		w := WorkOf(ctx)
		for b.Loop() {
			if err := w.Step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}
