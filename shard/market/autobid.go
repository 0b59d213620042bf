package market

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// An autobidding campaign with a target return bids for a click what the click is worth to it: the purchases that a
// click is expected to bring, times the value of a purchase, divided by the target. Both are learned (learn.Bought), and
// the price of the product stands in for the value at first. The bid amount is the ceiling. The rows of auctions contain
// the result, the base bid, so that an auction does no more for it than for another bid.
//
// This file computes base bids where a row is written: when a bid, its campaign's target, the price of its product or
// what is known of its purchases changes. It is integer arithmetic on replicated values, so base bids are equal on all
// nodes.

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

// base returns the base bid on a product for a campaign with a target return: at most the amount, and at least 1 micro.
// Without a price, and before anything was bought, it is the amount.
func (m *Market) base(product uint32, amount money.Micros, target uint32) money.Micros {
	bought := m.purchases.ads[product]
	worth := bought.Worth(m.autobids.price(product))
	if worth == 0 || target == 0 {
		return amount
	}
	prior := m.purchases.prior(m.products.at(product).Marketplace)
	return min(amount, max(1, pacing.ReturnBid(bought.Rate(&prior), worth, amount, target)))
}

// setTarget stores the target return of a campaign. The rows of its bids follow when they are put again.
func (m *Market) setTarget(campaign uint32, c *model.Campaign) {
	if c.HasBase() {
		m.autobids.targets[campaign] = c.TargetROASMilli
	} else {
		delete(m.autobids.targets, campaign)
	}
}

// baseOf returns the base bid for the row of a bid on a product, and remembers what it follows from.
func (m *Market) baseOf(campaign, product uint32, b *model.Bid) int64 {
	key := autobidKey{campaign, b.Ordinal}
	target, has := m.autobids.targets[campaign]
	if !has {
		delete(m.autobids.ceilings, key)
		return int64(b.Amount)
	}
	m.autobids.ceilings[key] = int64(b.Amount)
	return int64(m.base(product, b.Amount, target))
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
	m.renewBase(product)
}

// renewBase computes the base bids on a product again.
func (m *Market) renewBase(product uint32) {
	if len(m.autobids.ceilings) == 0 {
		return
	}
	r := m.products.at(product)
	for at, row := range slices.Clone(m.bids.at(r.block, r.Bids)) {
		ceiling, has := m.autobids.ceilings[autobidKey{row.Campaign, row.Ordinal}]
		if !has {
			continue
		}
		row.Amount = int64(m.base(product, money.Micros(ceiling), m.autobids.targets[row.Campaign]))
		m.replaceBid(product, at, row)
	}
}

// renewBases computes all base bids of a marketplace again, because what is known of an average ad has changed. It is
// needed when a day begins.
func (m *Market) renewBases(marketplace uint16) {
	renewed := map[uint32]bool{}
	for key := range m.autobids.ceilings { // order: every product is renewed for itself.
		c := m.campaigns.at(key.campaign)
		product, known := m.byBid.get(ids.Group(c.Group), key.ordinal)
		if known && c.Marketplace == marketplace && !renewed[product] {
			renewed[product] = true
			m.renewBase(product)
		}
	}
}
