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
	f := &fixture{Scheduler: NewScheduler(SchedulerConfig{SchedulerLimits: SchedulerDefaults, Thread: unknownThread})}
	f.turns.cpus = 1
	return f
}

// taken returns how many turns are used or rest.
func (f *fixture) taken() int { return f.turns.common.taken() + f.turns.light.taken() }

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

// TestTurnsGoToTheLeastUse checks that one request computes at a time, and that the next is one of the marketplace that has
// computed least, so that the single request of a marketplace waits for one of another with many.
func TestTurnsGoToTheLeastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		for _, r := range []struct {
			marketplace uint16
			name        string
			keep        time.Duration
		}{
			{1, "a0", 3 * time.Millisecond},
			{1, "a1", time.Millisecond},
			{1, "a2", time.Millisecond},
			{2, "b0", 2 * time.Millisecond},
			{2, "b1", 2 * time.Millisecond},
			{3, "c0", time.Millisecond},
		} {
			go f.ask(t.Context(), r.marketplace, r.name, r.keep)
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := strings.Join(f.order, " "), "a0 b0 c0 b1 a1 a2"; got != want {
			t.Errorf("turns of %s, want %s", got, want)
		}
		if waiting, used := f.Turns(); waiting != 0 || used != 10*time.Millisecond {
			t.Errorf("%d waiting, %v used", waiting, used)
		}
		// A minute later the use counts for almost nothing: a thousandth of what is used then decides.
		time.Sleep(time.Minute)
		f.order = nil
		go f.ask(t.Context(), 4, "d0", time.Millisecond)
		synctest.Wait()
		go f.ask(t.Context(), 4, "d1", time.Millisecond)
		synctest.Wait()
		go f.ask(t.Context(), 1, "a3", time.Millisecond)
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := strings.Join(f.order, " "), "d0 a3 d1"; got != want {
			t.Errorf("after a minute turns of %s, want %s", got, want)
		}
	})
}

// TestContinuedRequestsComeFirst checks that a request that has waited for a commit gets a turn before others of its marketplace
// begin.
func TestContinuedRequestsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		resume := f.waitForACommit(t, 1)
		for _, name := range []string{"b", "c"} {
			go f.ask(t.Context(), 1, name, time.Millisecond)
			synctest.Wait()
		}
		resume("a")
		if got, want := strings.Join(f.order, " "), "b a c"; got != want {
			t.Errorf("turns of %s, want %s", got, want)
		}
	})
}

// waitForACommit begins a request of a marketplace that computes for a second and then waits for a commit. The result lets it
// continue, and waits until nobody asks any more.
func (f *fixture) waitForACommit(t *testing.T, marketplace uint16) (resume func(name string)) {
	t.Helper()
	turn := f.NewTurn(marketplace)
	ctx := WithTurn(t.Context(), turn)
	if err := turn.Take(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	committed := Waiting(ctx)
	return func(name string) {
		committed()
		f.note(name)
		time.Sleep(time.Millisecond)
		turn.Give()
		time.Sleep(time.Minute)
		synctest.Wait()
	}
}

// TestContinuedRequestsLetOthersBegin checks that many requests that continue do not delay one that begins, when its marketplace
// has computed less: as long as one of them continues, it would not begin.
func TestContinuedRequestsLetOthersBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		const many = 50
		var all []func(string)
		for range many {
			all = append(all, f.waitForACommit(t, 1))
		}
		go f.ask(t.Context(), 3, "long", time.Second)
		synctest.Wait()
		for _, resume := range all {
			go resume("a")
		}
		synctest.Wait()
		go f.ask(t.Context(), 2, "honest", time.Millisecond)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(f.order) != many+2 || f.order[0] != "long" || f.order[1] != "honest" {
			t.Errorf("turns of %s, want the honest one first after the long one", strings.Join(f.order, " "))
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
		if waiting, _ := f.Turns(); f.taken() != 0 || waiting != 0 || len(f.turns.waiting) != 0 {
			t.Errorf("%d taken, %v waiting", f.taken(), f.turns.waiting)
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
		go f.ask(t.Context(), 2, "b", time.Minute)
		synctest.Wait()
		began := time.Now()
		resume()
		if took := time.Since(began); len(f.order) != 1 || took != resumeMax || turn.held {
			t.Errorf("%v, went on after %v, held %t", f.order, took, turn.held)
		}
		turn.Give() // The turn is not held, so this has no effect.
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if err := turn.Take(ctx); err != nil || !turn.held || f.taken() != 1 {
			t.Errorf("%v, held %t, %d taken", err, turn.held, f.taken())
		}
		Waiting(ctx)()
		if !turn.held || f.taken() != 1 {
			t.Errorf("after waiting for nothing: held %t, %d taken", turn.held, f.taken())
		}
	})
}

// TestLoad checks the levels of load and the number of turns at each: one fewer with traffic.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := uint64(0)
		f := newTurns(2, DefaultShare, func() uint64 { return answered }, time.Now)
		at := func(what string, want level, turns int) {
			t.Helper()
			if got, limit := f.load.level(), f.limit(); got != want || limit != turns {
				t.Errorf("%s: level %d and %d turns, want %d and %d", what, got, limit, want, turns)
			}
		}
		const enough = 2 * busyRate * uint64(loadWindow) / uint64(time.Second)
		at("at the start", quiet, 2)
		answered++
		at("within the window", quiet, 2)
		time.Sleep(loadWindow)
		at("after one request", served, 1)
		answered += enough
		time.Sleep(loadWindow)
		at("after many", busy, 1)
		answered += enough - 1
		time.Sleep(loadWindow)
		at("after one fewer", served, 1)
		answered += enough
		time.Sleep(2 * loadWindow)
		at("after as many in twice the time", served, 1)
		time.Sleep(loadWindow)
		at("after none", quiet, 2)
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

// TestTurnsRest checks how long the next request waits for a turn: with traffic as long as the turn was used, on a busy node
// until the use is the share of the CPUs, at most restMax, and not at all without traffic.
func TestTurnsRest(t *testing.T) {
	for name, c := range map[string]struct {
		cpus       int
		now        level
		used, want time.Duration
	}{
		"without traffic":           {2, quiet, 10 * time.Millisecond, 0},
		"with traffic":              {2, served, 10 * time.Millisecond, 10 * time.Millisecond},
		"busy, 1 turn of 2 CPUs":    {2, busy, 10 * time.Millisecond, 90 * time.Millisecond},
		"busy, 1 CPU":               {1, busy, 10 * time.Millisecond, 190 * time.Millisecond},
		"busy, 15 turns of 16 CPUs": {16, busy, 8 * time.Millisecond, 142 * time.Millisecond},
		"the longest":               {2, busy, time.Second, restMax},
		"too short for a rest":      {2, busy, restMin - 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newTurns(c.cpus, DefaultShare, nil, time.Now)
			f.load.last, f.load.sampled = c.now, time.Now().Add(time.Hour) // It is not sampled again.
			f.demandOf(1).used, f.demandOf(1).at = 3600, time.Now()        // It has used too much for the light pool.
			f.common.computing = f.limit()
			f.give(&f.common, 1, c.used)
			began := time.Now()
			if _, err := f.take(t.Context(), 1, false); err != nil || time.Since(began) != c.want {
				t.Errorf("%s: a turn after %v, %v, want %v", name, time.Since(began), err, c.want)
			}
		})
	}
}

// TestShortUsesOweARest checks that a thousand short uses rest as long together as one long use would.
func TestShortUsesOweARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTurns(2, DefaultShare, nil, time.Now)
		f.load.last, f.load.sampled = busy, time.Now().Add(time.Hour)
		f.demandOf(1).used, f.demandOf(1).at = 3600, time.Now() // It has used too much for the light pool.
		began, each := time.Now(), restMin/4
		for range 1_000 {
			p, err := f.take(t.Context(), 1, false)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(each)
			f.give(p, 1, each)
		}
		// The last four rest after the loop.
		if took, want := time.Since(began), 1_000*each*10-4*each*9; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
	})
}

// TestLightMarketplacesDoNotRest checks that a marketplace that has used little does not wait for the rest after a long use of
// another, only for its own; that one that has used much waits for it; and that no two requests compute at a time.
func TestLightMarketplacesDoNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTurns(2, DefaultShare, nil, time.Now)
		f.load.last, f.load.sampled = busy, time.Now().Add(time.Hour)
		began := time.Now()
		use := func(marketplace uint16, keep time.Duration) (waited time.Duration) {
			since := time.Now()
			p, err := f.take(t.Context(), marketplace, false)
			if err != nil {
				t.Fatal(err)
			}
			if f.common.computing+f.light.computing > 1 {
				t.Error("two requests compute")
			}
			waited = time.Since(since)
			time.Sleep(keep)
			f.give(p, marketplace, keep)
			return waited
		}
		heavy := make(chan time.Duration)
		go func() {
			use(1, 10*time.Second) // Until 10 s, and rests until 11 s.
			heavy <- use(1, time.Millisecond)
		}()
		synctest.Wait()
		const short = 2 * time.Millisecond
		if waited := use(2, short); waited != 10*time.Second {
			t.Errorf("beside a computing request a light marketplace waited %v", waited)
		}
		// One turn has 1.25 % of two CPUs: 2 ms in 80.
		if waited := use(2, short); waited != 39*short {
			t.Errorf("after its own use a light marketplace waited %v, want %v", waited, 39*short)
		}
		if waited := use(3, short); waited != 39*short {
			t.Errorf("after the use of another light marketplace one waited %v, want %v", waited, 39*short)
		}
		if waited := <-heavy; waited != restMax || time.Since(began) < 11*time.Second {
			t.Errorf("the marketplace with the long use waited %v, want %v", waited, restMax)
		}
	})
}
