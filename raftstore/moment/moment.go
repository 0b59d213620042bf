// Package moment remembers when something last happened, for the question how long ago that is.
package moment

import (
	"sync/atomic"
	"time"
)

// began has a monotonic part, which every time that is computed from it keeps.
var began = time.Now()

// Last is when something last happened. Its zero value says never. Writers and readers may be many.
//
// It holds nanoseconds since the start of the process and not of 1970: a time made from those has no monotonic part, and when the
// wall clock steps back by a minute, everything would have happened a minute later than it did.
type Last struct{ since atomic.Int64 }

// Mark notes that it happens now.
func (l *Last) Mark() { l.set(time.Now()) }

// set keeps a time; the one at which the process began is moved by a nanosecond, because zero says never.
func (l *Last) set(t time.Time) {
	since := int64(t.Sub(began))
	if since == 0 {
		since = 1
	}
	l.since.Store(since)
}

// Time is when it last happened; zero: never.
func (l *Last) Time() time.Time {
	since := l.since.Load()
	if since == 0 {
		return time.Time{}
	}
	return began.Add(time.Duration(since))
}
