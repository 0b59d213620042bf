package serving

import "time"

// MinorUnits is minorUnits for external tests.
var MinorUnits = minorUnits

// RecentIsBusy reports whether a live request is being explained.
func RecentIsBusy(c *Core) bool { return c.recent.busy.Load() }

// WaitRecent waits until no live request is being explained.
func WaitRecent(c *Core) {
	for RecentIsBusy(c) {
		time.Sleep(time.Millisecond)
	}
}
