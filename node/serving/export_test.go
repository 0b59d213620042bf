package serving

import "time"

// MinorUnits is minorUnits.
var MinorUnits = minorUnits

// RecentIsBusy reports whether a live request is being explained.
func RecentIsBusy(c *Core) bool { return c.recent.busy.Load() }

// WaitRecent waits until none is.
func WaitRecent(c *Core) {
	for RecentIsBusy(c) {
		time.Sleep(time.Millisecond)
	}
}
