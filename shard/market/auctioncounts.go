package market

import (
	"math/bits"
	"sync/atomic"
)

// LossReasonsMax bounds the numbers of loss reasons that are counted by campaign: from 1 to LossReasonsMax - 1. Number 0
// counts how many lost auctions were looked at. BOUND: 96 bytes for each campaign.
const LossReasonsMax = 24

// lossCounts are the auctions that a campaign has lost on this node since they were collected last, modulo 2^32. They lie
// apart from Balances, because only auctions whose losers are counted touch them.
type lossCounts [LossReasonsMax]atomic.Uint32

// AuctionCounts are the auctions of one campaign that a node has run since it collected them last.
type AuctionCounts struct {
	Marketplace uint16
	Group       uint16
	Ordinal     uint32 // The campaign's, within its Raft group.
	Won         uint32 // Auctions that at least one bid of the campaign has won.
	// Lost[n] are the auctions that the campaign has lost for the reason with the number n, estimated from those whose
	// losers were counted. Lost[0] is the number of lost auctions that were counted.
	Lost [LossReasonsMax]uint32
}

// SetLossWeight makes this node count the losers of about one of n requests, each n times. 0, as before the first call,
// counts none, because nothing would collect the counts.
func (m *Market) SetLossWeight(n uint32) { m.lossWeight.Store(n) }

// LossWeight returns the number that SetLossWeight stored last.
func (v *View) LossWeight() uint32 { return v.lossWeight.Load() }

// AddAuctionWon counts an auction that a campaign has won, however many of its bids won. It may be called concurrently
// and does not wait.
func (v *View) AddAuctionWon(row uint32) {
	chunk := v.balances[row>>chunkBits]
	chunk.row(row % chunkRows).auctions.Add(1)
	chunk.markCounted(row)
}

// AddAuctionLost counts an auction that a campaign has lost, weight times for the reason with a number. It may be called
// concurrently and does not wait. REQUIRES: 0 < reason < LossReasonsMax.
func (v *View) AddAuctionLost(row uint32, reason uint8, weight uint32) {
	chunk := v.balances[row>>chunkBits]
	lost := &chunk.lost[row%chunkRows]
	lost[0].Add(1)
	lost[reason].Add(weight)
	chunk.markCounted(row)
}

// markCounted marks a campaign for the next CollectAuctions, after its counts have grown (see View.AddWin).
func (c *balanceChunk) markCounted(row uint32) {
	if word := &c.counted[row%chunkRows/64]; word.Load()>>(row%64)&1 == 0 {
		word.Or(1 << (row % 64))
	}
}

// CollectAuctions calls fn with the counts of every campaign that has won or lost auctions since the last call, and sets
// them to 0. Auctions go on counting at the same time; each is collected once. One goroutine calls it.
func (m *Market) CollectAuctions(fn func(*AuctionCounts)) {
	v := m.View() // Whatever was counted is in this view, because rows are never removed.
	for i, chunk := range v.balances {
		for word := range chunk.counted {
			if chunk.counted[word].Load() == 0 {
				continue
			}
			first := uint32(i<<chunkBits | word*64) // A row.
			for set := chunk.counted[word].Swap(0); set != 0; set &= set - 1 {
				row := first + uint32(bits.TrailingZeros64(set)) // At most 63.
				c := v.Campaign(row)
				counts := AuctionCounts{
					Marketplace: c.Marketplace, Group: c.Group, Ordinal: c.Ordinal, Won: v.Balances(row).auctions.Swap(0),
				}
				for reason := range counts.Lost {
					counts.Lost[reason] = chunk.lost[row%chunkRows][reason].Swap(0)
				}
				fn(&counts)
			}
		}
	}
}
