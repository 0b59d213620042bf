// Package impure breaks every rule of the engine once. A comment "want: rule" names the finding its line must cause.
package impure

import (
	"maps"
	"slices"
	"time"

	clock "time"
)

type price float64 // want: float

type table map[string]int

func faults(open map[string]int, named table, cents int64) (out []string) {
	_ = time.Now()                // want: clock
	_ = clock.Since(clock.Time{}) // want: clock
	wait := time.After            // want: clock
	_ = wait
	go func() {}() // want: goroutine
	select {       // want: goroutine
	default:
	}
	for k := range open { // want: map order
		out = append(out, k)
	}
	for range named { // want: map order
	}
	for k := range maps.Keys(open) { // want: map order
		out = append(out, k)
	}
	out = slices.Collect(maps.Keys(open)) // want: map order
	// order:
	for range open { // want: map order
	}
	_ = float64(cents) * 1.5 // want: float
	var p price = 2          // want: float
	_ = p                    // want: float
	x := 1 / 3.0             // want: float
	_ = x                    // want: float
	return out
}
