// Package pure does what the engine may do.
package pure

import (
	"maps"
	"slices"
	"time"
)

const half = 1 << 3 / 2.0 // Untyped: an integer where it is used.

func fine(open map[string]int, at time.Time) int {
	sum := int(half)
	for _, n := range open { // order: a sum does not depend on it.
		sum += n
	}
	// order: a sum does not depend on it,
	// whichever way it is written.
	for range maps.Values(open) {
		sum++
	}
	for _, k := range slices.Sorted(maps.Keys(open)) {
		sum += len(k)
	}
	for _, k := range slices.SortedFunc(maps.Keys(open), func(a, b string) int { return len(a) - len(b) }) {
		sum += len(k)
	}
	if at.After(time.UnixMilli(0)) { // A method of a time that was given.
		sum++
	}
	share := float64(sum) / 2 // float: shown to a person, never added up.
	_ = share                 // float: see above.
	return sum
}
