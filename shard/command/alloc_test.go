//go:build !race

package command

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/model"
)

func TestReadEventsAllocatesNothing(t *testing.T) {
	var e Events
	c, err := Open(AppendEvents(nil, now, &someEvents))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = ReadEvents(&c, &e) }); n != 0 {
		t.Errorf("%v allocations on a warm batch", n)
	}
}

// Writing a value allocates nothing, and reading one allocates only its texts.
func TestTablesAllocateNothing(t *testing.T) {
	bid := someBids[1]
	stored := bids.append(nil, &bid)
	var d Decoder
	if n := testing.AllocsPerRun(100, func() { stored = bids.append(stored[:0], &bid) }); n != 0 {
		t.Errorf("%v allocations to write a bid", n)
	}
	const texts = 1 // The target.
	if n := testing.AllocsPerRun(100, func() {
		d, bid = NewDecoder(stored), model.Bid{}
		d.Bid(&bid)
	}); n != texts || d.Err() != nil {
		t.Errorf("%v allocations to read a bid, %v", n, d.Err())
	}
}
