// Package moment records when something last happened, by the monotonic clock, for callers that ask how long ago that
// is.
package moment

import (
	"sync/atomic"
	"time"
)

// began has a monotonic part, and every time that is computed from it has one too.
var began = time.Now()

// Last is the time at which something last happened. Its zero value means never. It is safe for concurrent use.
//
// It holds nanoseconds since the start of the process and not since 1970: a time made from those has no monotonic part,
// and when the wall clock steps back by a minute, everything would seem to have happened a minute later than it did.
type Last struct{ since atomic.Int64 }

// Mark sets the time to now.
func (l *Last) Mark() { l.set(time.Now()) }

// set stores a time. The one at which the process began is moved by a nanosecond, because zero means never.
func (l *Last) set(t time.Time) {
	since := int64(t.Sub(began))
	if since == 0 {
		since = 1
	}
	l.since.Store(since)
}

// Time returns the time of the last Mark, with a monotonic part; zero: never.
func (l *Last) Time() time.Time {
	since := l.since.Load()
	if since == 0 {
		return time.Time{}
	}
	return began.Add(time.Duration(since))
}
