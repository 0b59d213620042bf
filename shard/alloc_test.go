//go:build !race

package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/shardtest"
)

func TestEventsHardlyAllocate(t *testing.T) {
	r, c := fund(t), newClicks()
	batch := sink{shardtest.NewKV()}
	repeat := append([]byte(nil), c.renew()...)
	r.Machine.Apply(batch, repeat)
	if n := testing.AllocsPerRun(100, func() { r.Machine.Apply(batch, repeat) }); n != 1 {
		t.Errorf("50 repeated clicks: %v allocations, want 1, the answer", n)
	}
	// The dedup maps still allocate when they grow, which happens in steps.
	for _, kept := range []bool{false, true} {
		if kept {
			r.Do(keepEvents())
		}
		if n := testing.AllocsPerRun(1_000, func() { r.Machine.Apply(batch, c.renew()) }); n > 15 {
			t.Errorf("50 new clicks (events are kept: %t): %v allocations on average, want at most 15", kept, n)
		}
	}
}
