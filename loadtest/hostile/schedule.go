//go:build linux

package main

import "time"

// window is a part of the run, with or without attackers.
type window struct {
	Begin, End time.Duration // Since the storefront started.
	Attack     bool
	// Counted is when latencies begin to count. In a window without attackers that is some time after its beginning, because slow
	// requests that the attack before it left behind would make the comparison easier to pass. A window with attackers counts in full.
	Counted time.Duration
}

const (
	calmShare   = 4               // A window with attackers is this many times as long as one without.
	calmMin     = 5 * time.Second // The shortest window without attackers.
	recoveryMax = 5 * time.Second // BOUND: the beginning of such a window that does not count, a third of it.
)

// windowsOf returns windows without and with attackers in turn. The first and the last one are without, so that each window with attackers
// has one without on both sides.
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

// windowAt returns the index of the window that contains an instant, or of the last one when the instant is after all of them.
func windowAt(all []window, at time.Duration) int {
	for i := range all {
		if at < all[i].End {
			return i
		}
	}
	return len(all) - 1
}
