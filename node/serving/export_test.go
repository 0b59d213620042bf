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

// UserHash returns the hash of an opaqueUserId in a marketplace, by which events, auctions and segments identify the user.
// It is never 0. secret is command.Secrets.Duplicate.
func UserHash(secret *[32]byte, marketplace uint16, id []byte) uint64 {
	h := hasher{secret: secret, marketplace: marketplace}
	return h.user(id)
}
