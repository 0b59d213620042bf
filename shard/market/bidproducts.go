package market

import (
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/ids"
)

// bidProducts says for each group and ordinal of a listing bid on which product the bid is. A token names a bid by its
// ordinal, and an event is learned from by product. Ordinals are dense and never reused and a bid's target never changes,
// so an array is enough, entries of deleted bids stay right, and all views share it. A reader needs no lock.
//
// LOCKS: a writer holds the market's lock.
type bidProducts struct {
	groups [bidGroups]atomic.Pointer[bidChunks]
}

// bidChunks are the chunks of one group; nil where no bid is known.
type bidChunks []atomic.Pointer[bidChunk]

// bidChunk holds for consecutive ordinals the row of the product plus 1, 0 where no bid is known.
type bidChunk [chunkRows]atomic.Uint32

const bidGroups = 257 // One more than the largest id of a raft group.

// put records the product of a bid.
func (p *bidProducts) put(g ids.Group, bid, product uint32) {
	if int(g) >= bidGroups {
		return // The group of a WhatIf, which issues no tokens.
	}
	var chunks bidChunks
	if known := p.groups[g].Load(); known != nil {
		chunks = *known
	}
	at := int(bid >> chunkBits)
	if at >= len(chunks) {
		grown := make(bidChunks, max(at+1, 2*len(chunks)))
		for i := range chunks {
			grown[i].Store(chunks[i].Load())
		}
		chunks = grown
		p.groups[g].Store(&grown)
	}
	chunk := chunks[at].Load()
	if chunk == nil {
		chunk = new(bidChunk)
		chunks[at].Store(chunk)
	}
	chunk[bid%chunkRows].Store(product + 1)
}

// get returns the row of a bid's product.
func (p *bidProducts) get(g ids.Group, bid uint32) (product uint32, known bool) {
	if int(g) >= bidGroups {
		return 0, false
	}
	chunks := p.groups[g].Load()
	if chunks == nil || int(bid>>chunkBits) >= len(*chunks) {
		return 0, false
	}
	chunk := (*chunks)[bid>>chunkBits].Load()
	if chunk == nil {
		return 0, false
	}
	row := chunk[bid%chunkRows].Load()
	return row - 1, row != 0
}

// ProductOfBid returns the id of the product that a listing bid of a marketplace is on, nil when the view does not know
// the bid.
func (v *View) ProductOfBid(marketplace uint16, g ids.Group, bid uint32) []byte {
	row, known := v.bidProducts.get(g, bid)
	if !known || row >= v.products.count {
		return nil
	}
	r := v.products.at(row)
	if r.Marketplace != marketplace {
		return nil
	}
	return v.Key(r)
}
