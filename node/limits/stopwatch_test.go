package limits

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// unknownThread is the Thread of schedulers in virtual time, in which a sleep stands for computing.
func unknownThread() (time.Duration, bool) { return 0, false }

// TestATurnCountsCPUTime: a request that had its turn for 10 ms, but was let compute for only 1 ms of them, has used 1 ms. Without
// the time of its thread it has used 10.
func TestATurnCountsCPUTime(t *testing.T) {
	for _, c := range []struct {
		name         string
		known        bool
		thread, want time.Duration
	}{
		{"cpu time", true, time.Millisecond, time.Millisecond},
		{"unknown", false, time.Millisecond, 10 * time.Millisecond},
		{"never more than elapsed", true, 11 * time.Millisecond, 10 * time.Millisecond},
	} {
		var clock time.Time
		thread := time.Hour // Of what the thread did before.
		s := NewScheduler(SchedulerConfig{
			SchedulerLimits: SchedulerDefaults,
			Now:             func() time.Time { return clock },
			Thread:          func() (time.Duration, bool) { return thread, c.known },
		})
		turn := s.NewTurn(1)
		if err := turn.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock, thread = clock.Add(10*time.Millisecond), thread+c.thread
		turn.Give()
		if _, used := s.Turns(); used != c.want {
			t.Errorf("%s: %v used, want %v", c.name, used, c.want)
		}
	}
}

// TestTheThreadIsMeasured: the time of a thread is that of the goroutine that computes with a turn, whatever other goroutines do
// meanwhile, and does not grow while it sleeps.
func TestTheThreadIsMeasured(t *testing.T) {
	if _, ok := threadCPU(); !ok {
		t.Skip("the system does not know the CPU time of a thread")
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		})
	}
	watch := stopwatch{now: time.Now, thread: threadCPU}
	watch.start()
	before, _ := threadCPU()
	for range 200 {
		runtime.Gosched()
		now, _ := threadCPU()
		if now < before || now-before > watch.elapsed() {
			t.Errorf("the CPU time went from %v to %v in %v: another thread's", before, now, watch.elapsed())
		}
	}
	time.Sleep(50 * time.Millisecond)
	if elapsed, used := watch.elapsed(), watch.stop(); used > elapsed-25*time.Millisecond || used <= 0 {
		t.Errorf("%v of CPU time in %v, 50 ms of which it slept", used, elapsed)
	}
	close(stop)
	others.Wait()
}
