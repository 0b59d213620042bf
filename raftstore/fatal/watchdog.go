package fatal

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ticksPerLimit is the resolution of the watchdog: a call is reported between 100% and 110% of the limit.
const ticksPerLimit = 10

// Watchdog ends the process when a storage call does not return. A leader blocked inside its log store keeps its
// followers from electing another one for ever; only the end of its process frees the group (hashicorp/raft#503).
//
// A call's age is counted in ticks of the watchdog, not in wall time: a process that was stopped for a minute and
// continues has aged its calls by one tick, so a paused virtual machine does not end itself when it resumes.
type Watchdog struct {
	exit  *Exit
	limit time.Duration
	stop  chan struct{}
	done  chan struct{}

	mu     sync.Mutex
	calls  []call
	free   []int
	oldest atomic.Int64 // Age of the oldest call at the last tick, nanoseconds.
}

type call struct {
	what  string // Empty: the slot is free.
	ticks int
}

// Call is a storage call that the watchdog observes.
type Call struct {
	w    *Watchdog
	slot int
}

// NewWatchdog starts a watchdog that allows each call limit, which must be positive. The caller must Close it.
func NewWatchdog(exit *Exit, limit time.Duration) *Watchdog {
	w := &Watchdog{exit: exit, limit: limit, stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// Start begins to observe a call until Done. what is a constant that names the call. It is safe for concurrent use.
func (w *Watchdog) Start(what string) Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.free); n > 0 {
		slot := w.free[n-1]
		w.free = w.free[:n-1]
		w.calls[slot] = call{what: what}
		return Call{w, slot}
	}
	w.calls = append(w.calls, call{what: what})
	return Call{w, len(w.calls) - 1}
}

// Done says that the call returned.
func (c Call) Done() {
	c.w.mu.Lock()
	c.w.calls[c.slot] = call{}
	c.w.free = append(c.w.free, c.slot)
	c.w.mu.Unlock()
}

// Oldest is the age of the oldest storage call that has not returned, as of the last tick.
func (w *Watchdog) Oldest() time.Duration { return time.Duration(w.oldest.Load()) }

// Close stops the watchdog.
func (w *Watchdog) Close() {
	close(w.stop)
	<-w.done
}

func (w *Watchdog) run() {
	defer close(w.done)
	interval := w.limit / ticksPerLimit
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if what, late := w.tick(interval); late {
				w.exit.Now("storage call does not return", fmt.Errorf("%s is older than %s", what, w.limit))
			}
		case <-w.stop:
			return
		}
	}
}

// tick ages all calls and returns one that is over the limit. The first tick of a call may come at once, so it does not
// count.
func (w *Watchdog) tick(interval time.Duration) (what string, late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	oldest := 0
	for i := range w.calls {
		c := &w.calls[i]
		if c.what == "" {
			continue
		}
		c.ticks++
		oldest = max(oldest, c.ticks-1)
		if c.ticks > ticksPerLimit {
			what, late = c.what, true
		}
	}
	w.oldest.Store(int64(oldest) * int64(interval))
	return what, late
}
