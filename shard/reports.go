package shard

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// BidCounters are the counters of one bid of a campaign.
type BidCounters struct {
	Bid    uint32 // Ordinal; 0: events that named the campaign by its external id.
	Target string // Empty for bid 0.
	rollup.Counters
}

// CellCounters are the counters of one cell.
type CellCounters struct {
	Cell uint32
	rollup.Counters
}

// CampaignCounters sums the counters of a campaign over cells [from, to).
func (b Books) CampaignCounters(campaign ids.UUID, from, to uint32) (sum rollup.Counters) {
	b.scanCampaignCells(campaign, from, to, func(_, _ uint32, c *rollup.Counters) { sum.Add(c) })
	return sum
}

// CampaignCells gives the counters of a campaign per cell in [from, to) that has any, oldest first.
func (b Books) CampaignCells(campaign ids.UUID, from, to uint32) (all []CellCounters) {
	b.scanCampaignCells(campaign, from, to, func(cell, _ uint32, c *rollup.Counters) {
		if len(all) == 0 || all[len(all)-1].Cell != cell {
			all = append(all, CellCounters{Cell: cell})
		}
		all[len(all)-1].Add(c)
	})
	return all
}

// CampaignBids gives the counters of a campaign per bid over cells [from, to), by target and then by ordinal.
func (b Books) CampaignBids(campaign ids.UUID, from, to uint32) []BidCounters {
	var all []BidCounters
	at := make(map[uint32]int)
	b.scanCampaignCells(campaign, from, to, func(_, bid uint32, c *rollup.Counters) {
		i, known := at[bid]
		if !known {
			i = len(all)
			at[bid] = i
			all = append(all, BidCounters{Bid: bid})
		}
		all[i].Add(c)
	})
	if c, found := b.Campaign(campaign); found {
		for i := range all {
			if stored, found := b.R.Get(keyBid(nil, c.Ordinal, all[i].Bid)); found {
				all[i].Target = mustBid(stored).Target
			}
		}
	}
	slices.SortFunc(all, func(x, y BidCounters) int {
		return cmp.Or(cmp.Compare(x.Target, y.Target), cmp.Compare(x.Bid, y.Bid))
	})
	return all
}

func (b Books) scanCampaignCells(campaign ids.UUID, from, to uint32, fn func(cell, bid uint32, c *rollup.Counters)) {
	b.scanCells(keyCampaignCell(nil, campaign, from, 0), keyCampaignCell(nil, campaign, to, 0), func(key []byte, c *rollup.Counters) {
		fn(binary.BigEndian.Uint32(key[17:]), binary.BigEndian.Uint32(key[21:]), c)
	})
}

// BidCell are the counters of one bid in one cell.
type BidCell struct {
	Cell   uint32
	Bid    uint32 // Ordinal; 0: events that named the campaign by its external id.
	Target string // Empty for bid 0, and where the campaign lies in another group.
	rollup.Counters
}

// CampaignBidCells gives the counters of a campaign per cell in [from, to) and bid, oldest first.
func (b Books) CampaignBidCells(campaign ids.UUID, from, to uint32) (all []BidCell) {
	b.scanCampaignCells(campaign, from, to, func(cell, bid uint32, c *rollup.Counters) {
		all = append(all, BidCell{Cell: cell, Bid: bid, Counters: *c})
	})
	if len(all) == 0 {
		return nil
	}
	c, found := b.Campaign(campaign)
	if !found {
		return all
	}
	targets := make(map[uint32]string)
	for i := range all {
		bid := all[i].Bid
		if _, known := targets[bid]; !known {
			targets[bid] = b.targetOf(c.Ordinal, bid)
		}
		all[i].Target = targets[bid]
	}
	return all
}

func (b Books) targetOf(campaign, bid uint32) string {
	stored, found := b.R.Get(keyBid(nil, campaign, bid))
	if !found {
		return ""
	}
	return mustBid(stored).Target
}

// FreeCells gives the events of a marketplace that named no campaign, per cell in [from, to) that has any, oldest first.
func (b Books) FreeCells(marketplace uint16, from, to uint32) (all []CellCounters) {
	b.scanCells(keyFreeCell(nil, marketplace, from), keyFreeCell(nil, marketplace, to), func(key []byte, c *rollup.Counters) {
		all = append(all, CellCounters{binary.BigEndian.Uint32(key[len(key)-4:]), *c})
	})
	return all
}

// ProductsSold calls fn with the purchases of every product of a marketplace that has any in [from, to), each product's
// oldest first. It goes from product to product, so what lies outside of the cells costs one step for each product.
func (b Books) ProductsSold(marketplace uint16, from, to uint32, fn func(product string, c *CellCounters)) {
	at := appendU16([]byte{tableProductCell}, marketplace)
	for end := after(at); ; {
		product, found := b.productAt(at, end)
		if !found {
			return
		}
		cells := b.ProductCells(marketplace, product, from, to)
		for i := range cells {
			fn(product, &cells[i])
		}
		own := keyProductCell(nil, marketplace, []byte(product), 0)
		at = after(own[:len(own)-4])
	}
}

// productAt is the product of the first cell at or after a key.
func (b Books) productAt(at, end []byte) (product string, found bool) {
	b.R.Scan(at, end, func(key, _ []byte) bool {
		const head, tail = 1 + 2 + 2, 4 // Table, marketplace and length; the cell.
		product, found = string(key[head:len(key)-tail]), true
		return false
	})
	return product, found
}

// ProductCells gives the purchases of a product per cell in [from, to) that has any, oldest first.
func (b Books) ProductCells(marketplace uint16, product string, from, to uint32) (all []CellCounters) {
	id := []byte(product)
	b.scanCells(keyProductCell(nil, marketplace, id, from), keyProductCell(nil, marketplace, id, to), func(key []byte, c *rollup.Counters) {
		all = append(all, CellCounters{binary.BigEndian.Uint32(key[len(key)-4:]), *c})
	})
	return all
}

// ProductCounters sums the purchases of a product over cells [from, to).
func (b Books) ProductCounters(marketplace uint16, product string, from, to uint32) (sum rollup.Counters) {
	for _, c := range b.ProductCells(marketplace, product, from, to) {
		sum.Add(&c.Counters)
	}
	return sum
}

// FreeCounters sums the events of a marketplace that named no campaign of this group over cells [from, to).
func (b Books) FreeCounters(marketplace uint16, from, to uint32) (sum rollup.Counters) {
	b.scanCells(keyFreeCell(nil, marketplace, from), keyFreeCell(nil, marketplace, to), func(_ []byte, c *rollup.Counters) {
		sum.Add(c)
	})
	return sum
}

func (b Books) scanCells(from, to []byte, fn func(key []byte, c *rollup.Counters)) {
	var c rollup.Counters
	b.R.Scan(from, to, func(key, value []byte) bool {
		if err := c.Decode(value); err != nil {
			panic("shard: stored counters: " + err.Error())
		}
		fn(key, &c)
		return true
	})
}

// Journal calls fn for every journal line from number seq on, in order, until fn returns false.
func (b Books) Journal(seq uint64, fn func(l *ledger.Line) bool) {
	b.R.Scan(keyLine(nil, seq), []byte{tableJournal + 1}, func(key, value []byte) bool {
		l := must(ledger.ReadLine(binary.BigEndian.Uint64(key[1:]), value))
		return fn(&l)
	})
}

// Decision returns what became of an event, by its dedup key, as long as the key is remembered.
func (b Books) Decision(bucket uint32, key [16]byte) (command.EventResult, bool) {
	stored, found := b.R.Get(append(keyDedup(nil, bucketID{classEvent, bucket}), key[:]...))
	if !found {
		return command.EventResult{}, false
	}
	return readDecision(stored), true
}
