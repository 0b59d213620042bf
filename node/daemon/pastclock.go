package daemon

import (
	"sync/atomic"
	"time"
)

// pastClock is a clock behind the wall clock. It goes as fast, and moveTo moves it ahead. INVARIANT: it never goes back, and
// is never ahead of the wall clock. It is safe for concurrent use.
type pastClock struct{ behind atomic.Int64 } // Nanoseconds.

func newPastClock(at time.Time) *pastClock {
	c := &pastClock{}
	c.behind.Store(max(0, int64(time.Since(at))))
	return c
}

func (c *pastClock) now() time.Time { return time.Now().Add(-time.Duration(c.behind.Load())) }

// moveTo moves the clock to a time, unless it is there already.
func (c *pastClock) moveTo(at time.Time) {
	for {
		before, behind := c.behind.Load(), max(0, int64(time.Since(at)))
		if behind >= before || c.behind.CompareAndSwap(before, behind) {
			return
		}
	}
}
