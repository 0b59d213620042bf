package market

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// An autobidding campaign with a target return bids for a click what the click is worth to it: the purchases that a
// click is expected to bring, times the price of the product, divided by the target. The bid amount is the ceiling. The
// rows of auctions contain the result, the base bid, so that an auction does no more for it than for another bid.
//
// This file computes base bids where a row is written: when a bid, its campaign's target or the price of its product
// changes. It is integer arithmetic on replicated values, so base bids are equal on all nodes.

// PriorPurchase is the expected number of purchases of a click, in units of 1/2^32 and rounded up: 10 of 100 clicks. It
// is the same for all products until purchases are attributed.
const PriorPurchase = (10<<32 + 99) / 100

// autobids is what base bids are computed from. Auctions do not read it.
type autobids struct {
	targets  map[uint32]uint32    // Target returns in thousandths, by row of the campaign; only of those with one.
	ceilings map[autobidKey]int64 // The bid amounts of these campaigns.
	prices   []money.Micros       // Catalog prices, by row of the product, as far as rows with one go; 0: none.
}

type autobidKey struct{ campaign, ordinal uint32 }

func (a *autobids) init() {
	a.targets = map[uint32]uint32{}
	a.ceilings = map[autobidKey]int64{}
}

// HasBase reports whether the bids of a campaign have a base bid that may be below their amount. Banners and sponsored
// brands have none, because their targets need not be products, nor have campaigns that do not pay by the click.
func (c *Campaign) HasBase() bool {
	return c.Type == Autobidding && c.TargetROASMilli != 0 && c.Format == Listing && c.Charge == CPC
}

// Base returns the bid of a campaign for a click on a product that has a price, 0 for none: without a price it is the
// bid amount.
func (c *Campaign) Base(amount, price money.Micros) money.Micros {
	if !c.HasBase() {
		return amount
	}
	return base(amount, price, c.TargetROASMilli)
}

func base(amount, price money.Micros, target uint32) money.Micros {
	if price <= 0 || target == 0 {
		return amount
	}
	return min(amount, max(1, pacing.ReturnBid(PriorPurchase, price, amount, target)))
}

// setTarget stores the target return of a campaign. The rows of its bids follow when they are put again.
func (m *Market) setTarget(campaign uint32, c *Campaign) {
	if c.HasBase() {
		m.autobids.targets[campaign] = c.TargetROASMilli
	} else {
		delete(m.autobids.targets, campaign)
	}
}

// baseOf returns the base bid for the row of a bid on a product, and remembers what it follows from.
func (m *Market) baseOf(campaign, product uint32, b *Bid) int64 {
	key := autobidKey{campaign, b.Ordinal}
	target, has := m.autobids.targets[campaign]
	if !has {
		delete(m.autobids.ceilings, key)
		return int64(b.Amount)
	}
	m.autobids.ceilings[key] = int64(b.Amount)
	return int64(base(b.Amount, m.autobids.price(product), target))
}

func (a *autobids) price(product uint32) money.Micros {
	if int(product) >= len(a.prices) {
		return 0
	}
	return a.prices[product]
}

// setPrice stores the price of a product and renews the base bids on it.
func (m *Market) setPrice(product uint32, price money.Micros) {
	if m.autobids.price(product) == price {
		return
	}
	if need := int(product) + 1 - len(m.autobids.prices); need > 0 {
		m.autobids.prices = append(m.autobids.prices, make([]money.Micros, need)...)
	}
	m.autobids.prices[product] = price
	if len(m.autobids.ceilings) == 0 {
		return
	}
	r := m.products.at(product)
	for at, row := range slices.Clone(m.bids.at(r.block, r.Bids)) {
		ceiling, has := m.autobids.ceilings[autobidKey{row.Campaign, row.Ordinal}]
		if !has {
			continue
		}
		row.Amount = int64(base(money.Micros(ceiling), price, m.autobids.targets[row.Campaign]))
		m.replaceBid(product, at, row)
	}
}
