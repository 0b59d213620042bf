package limits

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fixture is a Scheduler in a synctest bubble with one turn, and the order in which requests got it.
type fixture struct {
	*Scheduler

	mu    sync.Mutex
	order []string
}

func (f *fixture) note(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order = append(f.order, name)
}

func newFixture() *fixture {
	f := &fixture{Scheduler: NewScheduler(SchedulerConfig{SchedulerLimits: SchedulerDefaults})}
	f.turns.busy, f.turns.idle = 1, 1
	return f
}

// ask takes a turn for a request and keeps it for a time.
func (f *fixture) ask(ctx context.Context, marketplace uint16, name string, keep time.Duration) {
	turn := f.NewTurn(marketplace)
	if turn.Take(ctx) != nil {
		f.note(name + " gone")
		return
	}
	f.note(name)
	time.Sleep(keep)
	turn.Give()
}

// TestTurnsRotateByMarketplace checks that one request computes at a time, and that a marketplace with many requests delays
// another by one of them.
func TestTurnsRotateByMarketplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		for _, r := range []struct {
			marketplace uint16
			name        string
		}{{1, "a0"}, {1, "a1"}, {1, "a2"}, {1, "a3"}, {2, "b0"}, {2, "b1"}, {3, "c0"}} {
			go f.ask(t.Context(), r.marketplace, r.name, time.Millisecond)
			synctest.Wait()
		}
		began := time.Now()
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := strings.Join(f.order, " "), "a0 a1 b0 c0 a2 b1 a3"; got != want || time.Since(began) != time.Second {
			t.Errorf("turns of %s, want %s", got, want)
		}
	})
}

// TestTurnsOfRequestsThatEnd checks that no turn is lost when a request ends while it waits, also if it gets one at that
// moment.
func TestTurnsOfRequestsThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		ctx, cancel := context.WithCancel(t.Context())
		go f.ask(t.Context(), 1, "a", time.Millisecond)
		synctest.Wait()
		for _, name := range []string{"b", "c"} {
			go f.ask(ctx, 2, name, time.Millisecond)
			synctest.Wait()
		}
		go f.ask(t.Context(), 3, "d", time.Millisecond)
		synctest.Wait()
		cancel()
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := strings.Join(f.order, " "), "a b gone c gone d"; got != want && got != "a c gone b gone d" {
			t.Errorf("turns of %s, want %s", got, want)
		}
		if f.turns.taken != 0 || len(f.turns.order) != 0 || len(f.turns.queues) != 0 {
			t.Errorf("%d taken, %v waiting", f.turns.taken, f.turns.queues)
		}
	})
}

// TestWaitingGivesTheTurnBack checks that a request that waits for a commit has no turn, and that it continues when a turn
// is free, or after resumeMax.
func TestWaitingGivesTheTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		turn := f.NewTurn(1)
		ctx := WithTurn(t.Context(), turn)
		if err := turn.Take(ctx); err != nil {
			t.Fatal(err)
		}
		resume := Waiting(ctx)
		go f.ask(t.Context(), 2, "b", 10*time.Second)
		synctest.Wait()
		began := time.Now()
		resume()
		if took := time.Since(began); len(f.order) != 1 || took != resumeMax || turn.held {
			t.Errorf("%v, went on after %v, held %t", f.order, took, turn.held)
		}
		turn.Give() // The turn is not held, so this has no effect.
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := turn.Take(ctx); err != nil || !turn.held || f.turns.taken != 1 {
			t.Errorf("%v, held %t, %d taken", err, turn.held, f.turns.taken)
		}
		Waiting(ctx)()
		if !turn.held || f.turns.taken != 1 {
			t.Errorf("after waiting for nothing: held %t, %d taken", turn.held, f.turns.taken)
		}
	})
}

// TestTurnsFollowTraffic checks that there is one turn fewer while there is traffic.
func TestTurnsFollowTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := uint64(0)
		f := newTurns(2, func() uint64 { return traffic }, time.Now)
		limit := func(want int) {
			t.Helper()
			f.mu.Lock()
			defer f.mu.Unlock()
			if got := f.limit(); got != want {
				t.Errorf("%d turns, want %d", got, want)
			}
		}
		limit(2)
		traffic++
		limit(2) // The traffic is not read again before the window is over.
		time.Sleep(trafficWindow)
		limit(1)
		time.Sleep(trafficWindow)
		limit(2)
	})
}

// TestNoTurns checks that without a Scheduler no request waits.
func TestNoTurns(t *testing.T) {
	var s *Scheduler
	turn := s.NewTurn(1)
	ctx := WithTurn(t.Context(), turn)
	if err := turn.Take(ctx); err != nil {
		t.Error(err)
	}
	Waiting(ctx)()
	turn.Give()
}

// TestTurnsRest checks that with traffic a turn is free again only after the time for which it was used, at most restMax, and
// that without traffic, or after a short use, it is free at once.
func TestTurnsRest(t *testing.T) {
	for _, c := range []struct {
		traffic    bool
		used, want time.Duration
	}{
		{true, 10 * time.Millisecond, 10 * time.Millisecond}, {true, time.Second, restMax}, {true, restMin - 1, 0}, {false, 10 * time.Millisecond, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			traffic := uint64(0)
			s := NewScheduler(SchedulerConfig{SchedulerLimits: SchedulerDefaults, Traffic: func() uint64 { traffic++; return traffic }})
			s.turns.busy, s.turns.idle = 1, 2
			if !c.traffic {
				s.turns.traffic = func() uint64 { return 0 }
				s.turns.idle = 1
			}
			time.Sleep(trafficWindow)
			first, second := s.NewTurn(1), s.NewTurn(1)
			if err := first.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.used)
			first.Give()
			began := time.Now()
			if err := second.Take(t.Context()); err != nil || time.Since(began) != c.want {
				t.Errorf("%+v: the next got it after %v, %v", c, time.Since(began), err)
			}
		})
	}
}
