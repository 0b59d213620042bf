//go:build linux

package main

import "time"

// window is a part of the run, with or without attackers.
type window struct {
	Begin, End time.Duration // Since the storefront started.
	Attack     bool
	// Counted is where its latencies begin to count. What the attackers left behind is not charged to the time without them, which
	// would make the comparison easier to pass; a window with attackers counts from its beginning.
	Counted time.Duration
}

const (
	calmShare   = 4 // A window without attackers is a quarter as long as one with them,
	calmMin     = 5 * time.Second
	recoveryMax = 5 * time.Second // and its beginning does not count: a third of it, at most this.
)

// windowsOf alternates: without, with, without, ..., with, without. So each window with attackers has one without on both sides.
func windowsOf(length time.Duration, pairs int) []window {
	attack := length / time.Duration(pairs)
	calm := max(attack/calmShare, calmMin)
	var all []window
	var at time.Duration
	add := func(d time.Duration, attacked bool) {
		w := window{Begin: at, End: at + d, Attack: attacked, Counted: at}
		if !attacked && at > 0 {
			w.Counted += min(d/3, recoveryMax)
		}
		all = append(all, w)
		at = w.End
	}
	add(calm, false)
	for range pairs {
		add(attack, true)
		add(calm, false)
	}
	return all
}

// windowAt is the index of the window of an instant; the last one takes what comes after all.
func windowAt(all []window, at time.Duration) int {
	for i := range all {
		if at < all[i].End {
			return i
		}
	}
	return len(all) - 1
}
