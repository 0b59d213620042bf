package market_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/shard/market"
)

// Every counted auction is collected once, whatever is counted while the counts are collected.
func TestAuctionsAreCollectedOnce(t *testing.T) {
	m := market.New(1)
	rows := rowsOf(t, m, 700)[1] // More than one chunk.
	v := m.View()
	won, lost, counted := map[uint32]uint32{}, map[uint32]uint32{}, map[uint32]uint32{}
	collect := func() {
		m.CollectAuctions(func(x *market.AuctionCounts) {
			if x.Group != 1 {
				t.Errorf("%+v was counted", x)
			}
			won[x.Ordinal] += x.Won
			lost[x.Ordinal] += x.Lost[20]
			counted[x.Ordinal] += x.Lost[0]
		})
	}
	const workers, each = 4, 5_000
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for i := range each {
				v.AddAuctionWon(rows[i%700])
				v.AddAuctionLost(rows[699-i%700], 20, 3)
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
			collect()
		}
	}
	collect()
	for ordinal := uint32(1); ordinal <= 700; ordinal++ {
		times := func(i uint32) uint32 { return workers * ((each-1-i)/700 + 1) }
		want := fmt.Sprint(times(ordinal-1), 3*times(700-ordinal), times(700-ordinal))
		if got := fmt.Sprint(won[ordinal], lost[ordinal], counted[ordinal]); got != want {
			t.Errorf("campaign %d won, lost and counted %s, want %s", ordinal, got, want)
		}
	}
	m.CollectAuctions(func(x *market.AuctionCounts) { t.Errorf("%+v was collected again", x) })
}
