package moment

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A time that is remembered is measured by the monotonic clock, like the one it was made from.
func TestLastKeepsTheMonotonicClock(t *testing.T) {
	var l Last
	if !l.Time().IsZero() {
		t.Errorf("before it happens: %s", l.Time())
	}
	now := time.Now()
	l.set(now)
	// The wall clocks of the two may differ by what they drifted since the process began.
	if got := l.Time(); got.Sub(now) != 0 || !strings.Contains(got.String(), " m=") {
		t.Errorf("%s of %s", got, now)
	}
	l.set(began)
	if got := l.Time(); got.IsZero() || got.Sub(began) != 1 {
		t.Errorf("at the start: %s", got)
	}
}

// In a bubble, whose clock began long before the process, it works as well.
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
