package raftstore

import (
	"math"
	"testing"
)

// What a full node refuses, a snapshot or a large batch, leaves what it still takes untouched.
func TestFullNodeCountsOnlyWhatItTakes(t *testing.T) {
	var p space
	for i, step := range []struct {
		bytes int64
		takes bool
	}{
		{fullTakes + 1, false},
		{math.MaxInt64, false},
		{fullTakes - 100, true},
		{101, false},
		{60, true},
		{41, false},
		{40, true},
		{1, false},
	} {
		if got := p.takes(step.bytes); got != step.takes {
			t.Errorf("step %d: %d bytes: %v with %d taken", i, step.bytes, got, p.taken.Load())
		}
	}
}
