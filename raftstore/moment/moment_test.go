package moment

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A recorded time is measured by the monotonic clock, like the one it was made from.
func TestLastKeepsTheMonotonicClock(t *testing.T) {
	var l Last
	if !l.Time().IsZero() {
		t.Errorf("before it happens: %s", l.Time())
	}
	now := time.Now()
	l.set(now)
	// The wall clocks of the two may differ by their drift since the process began.
	if got := l.Time(); got.Sub(now) != 0 || !strings.Contains(got.String(), " m=") {
		t.Errorf("%s of %s", got, now)
	}
	l.set(began)
	if got := l.Time(); got.IsZero() || got.Sub(began) != 1 {
		t.Errorf("at the start: %s", got)
	}
}

// It also works in a bubble, whose clock began long before the process.
func TestLastInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Last
		l.Mark()
		time.Sleep(time.Minute)
		if ago := time.Since(l.Time()); ago != time.Minute {
			t.Errorf("%s ago", ago)
		}
	})
}
