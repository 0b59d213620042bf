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
	Bid    uint32 // Ordinal; 0 for events that named the campaign by its external id.
	Target string // Empty for bid 0.
	rollup.Counters
}

// CellCounters are the counters of one cell.
type CellCounters struct {
	Cell uint32
	rollup.Counters
}

// CampaignCounters sums the counters of a campaign over cells [from, to).
func (b Queries) CampaignCounters(campaign ids.UUID, from, to uint32) (sum rollup.Counters) {
	b.scanCampaignCells(campaign, from, to, func(_, _ uint32, c *rollup.Counters) { sum.Add(c) })
	return sum
}

// CampaignCells returns the counters of a campaign for each cell in [from, to) that has any, oldest first.
func (b Queries) CampaignCells(campaign ids.UUID, from, to uint32) (all []CellCounters) {
	b.scanCampaignCells(campaign, from, to, func(cell, _ uint32, c *rollup.Counters) {
		if len(all) == 0 || all[len(all)-1].Cell != cell {
			all = append(all, CellCounters{Cell: cell})
		}
		all[len(all)-1].Add(c)
	})
	return all
}

// CampaignBids returns the counters of a campaign for each bid, summed over cells [from, to), ordered by target and
// ordinal.
func (b Queries) CampaignBids(campaign ids.UUID, from, to uint32) []BidCounters {
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

// ProductSales are the counters of what was attributed to a campaign of one product, in one cell or over several.
type ProductSales struct {
	Cell    uint32 // 0 in a sum over cells.
	Product string
	rollup.Counters
}

// CampaignSales returns what was attributed to a campaign over cells [from, to) by product sold, ordered by product.
func (b Queries) CampaignSales(campaign ids.UUID, from, to uint32) (all []ProductSales) {
	at := make(map[string]int)
	b.CampaignSaleCells(campaign, from, to, func(s *ProductSales) {
		i, known := at[s.Product]
		if !known {
			i = len(all)
			at[s.Product] = i
			all = append(all, ProductSales{Product: s.Product})
		}
		all[i].Add(&s.Counters)
	})
	slices.SortFunc(all, func(x, y ProductSales) int { return cmp.Compare(x.Product, y.Product) })
	return all
}

// CampaignSaleCells calls fn with what was attributed to a campaign for each cell in [from, to) and product sold, oldest
// first. OWNERSHIP: a ProductSales is valid until fn returns.
func (b Queries) CampaignSaleCells(campaign ids.UUID, from, to uint32, fn func(*ProductSales)) {
	b.scanCells(keySoldCell(nil, campaign, from, ""), keySoldCell(nil, campaign, to, ""), func(key []byte, c *rollup.Counters) {
		fn(&ProductSales{Cell: binary.BigEndian.Uint32(key[17:]), Product: string(key[21:]), Counters: *c})
	})
}

func (b Queries) scanCampaignCells(campaign ids.UUID, from, to uint32, fn func(cell, bid uint32, c *rollup.Counters)) {
	b.scanCells(keyCampaignCell(nil, campaign, from, 0), keyCampaignCell(nil, campaign, to, 0), func(key []byte, c *rollup.Counters) {
		fn(binary.BigEndian.Uint32(key[17:]), binary.BigEndian.Uint32(key[21:]), c)
	})
}

// BidCell are the counters of one bid in one cell.
type BidCell struct {
	Cell   uint32
	Bid    uint32 // Ordinal; 0 for events that named the campaign by its external id.
	Target string // Empty for bid 0, and when the campaign belongs to another group.
	rollup.Counters
}

// CampaignBidCells calls fn with the counters of a campaign for each cell in [from, to) and bid, oldest first.
// OWNERSHIP: a BidCell is valid until fn returns.
func (b Queries) CampaignBidCells(campaign ids.UUID, from, to uint32, fn func(*BidCell)) {
	var ordinal uint32 // Of the campaign; 0 when it belongs to another group.
	targets := map[uint32]string{}
	b.scanCampaignCells(campaign, from, to, func(cell, bid uint32, c *rollup.Counters) {
		if len(targets) == 0 {
			if c, found := b.Campaign(campaign); found {
				ordinal = c.Ordinal
			}
		}
		target, known := targets[bid]
		if !known {
			if ordinal != 0 {
				target = b.targetOf(ordinal, bid)
			}
			targets[bid] = target
		}
		fn(&BidCell{Cell: cell, Bid: bid, Target: target, Counters: *c})
	})
}

func (b Queries) targetOf(campaign, bid uint32) string {
	stored, found := b.R.Get(keyBid(nil, campaign, bid))
	if !found {
		return ""
	}
	return mustBid(stored).Target
}

// NoCampaignCells returns the counters of a marketplace's events without a campaign, for each cell in [from, to) that
// has any, oldest first.
func (b Queries) NoCampaignCells(marketplace uint16, from, to uint32) (all []CellCounters) {
	b.scanCells(keyNoCampaignCell(nil, marketplace, from), keyNoCampaignCell(nil, marketplace, to), func(key []byte, c *rollup.Counters) {
		all = append(all, CellCounters{binary.BigEndian.Uint32(key[len(key)-4:]), *c})
	})
	return all
}

// skipMax is how many consecutive records outside of the requested cells ProductsSold reads before it seeks. A seek
// costs about as much as reading that many records.
const skipMax = 16

// ProductsSold calls fn with the purchases of every product of a marketplace that has any in cells [from, to); for each
// product the oldest cell comes first. It reads all products in one pass and seeks only past many records outside of
// the cells.
func (b Queries) ProductsSold(marketplace uint16, from, to uint32, fn func(product string, c *CellCounters)) {
	const head, tail = 1 + 2 + 2, 4 // Table, marketplace and length; the cell.
	at := appendU16([]byte{tableProductCell}, marketplace)
	product := ""
	for end := prefixEnd(at); at != nil; {
		start, skipped := at, 0
		at = nil
		b.R.Scan(start, end, func(key, value []byte) bool {
			id, cell := key[head:len(key)-tail], binary.BigEndian.Uint32(key[len(key)-tail:])
			if cell >= from && cell < to {
				if skipped = 0; product != string(id) {
					product = string(id)
				}
				c := CellCounters{Cell: cell}
				mustCounters(&c.Counters, value)
				fn(product, &c)
				return true
			}
			if skipped++; skipped < skipMax {
				return true
			}
			if at = keyProductCell(nil, marketplace, id, from); cell >= to {
				at = prefixEnd(at[:len(at)-tail])
			}
			return false
		})
	}
}

// ProductCells returns the purchases of a product for each cell in [from, to) that has any, oldest first.
func (b Queries) ProductCells(marketplace uint16, product string, from, to uint32) (all []CellCounters) {
	id := []byte(product)
	b.scanCells(keyProductCell(nil, marketplace, id, from), keyProductCell(nil, marketplace, id, to), func(key []byte, c *rollup.Counters) {
		all = append(all, CellCounters{binary.BigEndian.Uint32(key[len(key)-4:]), *c})
	})
	return all
}

// ProductCounters sums the purchases of a product over cells [from, to).
func (b Queries) ProductCounters(marketplace uint16, product string, from, to uint32) (sum rollup.Counters) {
	for _, c := range b.ProductCells(marketplace, product, from, to) {
		sum.Add(&c.Counters)
	}
	return sum
}

// NoCampaignCounters sums the counters of a marketplace's events without a campaign of this group over cells [from,
// to).
func (b Queries) NoCampaignCounters(marketplace uint16, from, to uint32) (sum rollup.Counters) {
	b.scanCells(keyNoCampaignCell(nil, marketplace, from), keyNoCampaignCell(nil, marketplace, to), func(_ []byte, c *rollup.Counters) {
		sum.Add(c)
	})
	return sum
}

func (b Queries) scanCells(from, to []byte, fn func(key []byte, c *rollup.Counters)) {
	var c rollup.Counters
	b.R.Scan(from, to, func(key, value []byte) bool {
		mustCounters(&c, value)
		fn(key, &c)
		return true
	})
}

func mustCounters(c *rollup.Counters, stored []byte) {
	if err := c.Decode(stored); err != nil {
		panic("shard: stored counters: " + err.Error())
	}
}

// Journal calls fn for every journal line from number seq on, in order, until fn returns false.
func (b Queries) Journal(seq uint64, fn func(l *ledger.Line) bool) {
	b.R.Scan(keyLine(nil, seq), []byte{tableJournal + 1}, func(key, value []byte) bool {
		l := must(ledger.ReadLine(binary.BigEndian.Uint64(key[1:]), value))
		return fn(&l)
	})
}

// Decision returns the result of an event by its bucket and dedup key, as long as the key is remembered.
func (b Queries) Decision(bucket uint32, key [16]byte) (command.EventResult, bool) {
	stored, found := b.R.Get(append(keyDedup(nil, bucketID{classEvent, bucket}), key[:]...))
	if !found {
		return command.EventResult{}, false
	}
	return readDecision(stored), true
}
