package limits

import (
	"runtime"
	"time"
)

// stopwatch measures the CPU time of a piece of work: on a machine that has more to do than it can, work of 0.2 ms takes ten
// times that, and a share of the CPUs counted in elapsed time would be a tenth of what it says.
//
// The work keeps its thread meanwhile, because the system counts CPU time by thread. Where it does not count, elapsed time is
// measured, which is never less.
type stopwatch struct {
	now    func() time.Time
	thread func() (time.Duration, bool) // The CPU time of the calling thread, and whether the system knows.

	begun   time.Time
	used    time.Duration // Of the thread, at the begin.
	counted bool
}

// start begins to measure the work of the calling goroutine, which must call stop.
func (s *stopwatch) start() {
	runtime.LockOSThread()
	s.begun = s.now()
	s.used, s.counted = s.thread()
}

// elapsed returns the time since start.
func (s *stopwatch) elapsed() time.Duration { return s.now().Sub(s.begun) }

// stop returns the CPU time since start.
func (s *stopwatch) stop() time.Duration {
	took := s.elapsed()
	if used, ok := s.thread(); ok && s.counted {
		took = min(took, used-s.used)
	}
	runtime.UnlockOSThread()
	return took
}
