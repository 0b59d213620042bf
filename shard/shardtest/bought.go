package shardtest

import (
	"math/big"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Bought is what is known of the purchases of a cell in the model: what was settled, and what is new. It decays on every
// day. Clicks and purchases are in 1/65,536.
type Bought struct {
	Clicks, Pending, Purchases, Value uint64
	NewClicks, NewPurchases, NewValue uint64
	Shown                             learn.Bought // What auctions read.
}

const valueMax = 1 << 55

func (b *Bought) settle() {
	b.Clicks += b.NewClicks / 2
	b.Pending += b.NewClicks / 2 // A whole number of clicks.
	b.Purchases += b.NewPurchases
	b.Value = min(b.Value+b.NewValue, valueMax)
	b.NewClicks, b.NewPurchases, b.NewValue = 0, 0, 0
}

func (b *Bought) show() {
	b.Shown = learn.Bought{Clicks: b.Clicks, Purchases: b.Purchases, Value: b.Value}
}

func (b *Bought) nextDay() {
	less := func(x uint64) uint64 {
		product := new(big.Int).Mul(new(big.Int).SetUint64(x), big.NewInt(62_370))
		return product.Rsh(product, 16).Uint64()
	}
	due := (b.Pending*10_061 + 65_535) / 65_536
	b.Clicks, b.Pending, b.Purchases, b.Value = less(b.Clicks)+due, b.Pending-due, less(b.Purchases), less(b.Value)
}

// boughtCells returns the cells that an ad teaches.
func (m *Model) boughtCells(c *Campaign, product string) (cells []market.PurchaseCell) {
	format := market.PurchaseCell{Marketplace: c.Marketplace, Format: c.Format}
	ad := format
	if c.Format == model.Listing {
		ad.Product = product
	} else {
		ad.Campaign = c.Ordinal
	}
	cells = append(cells, format)
	ads := 0
	for cell := range m.Bought {
		if cell.Marketplace == c.Marketplace && !cell.IsFormat() {
			ads++
		}
	}
	if _, known := m.Bought[ad]; ad != format && (known || ads < m.PurchaseAdsMax) {
		cells = append(cells, ad)
	}
	return cells
}

// clicked learns from a click.
func (m *Model) clicked(c *Campaign, product string) {
	if m.Level < command.LevelTargetReturn {
		return
	}
	for _, cell := range m.boughtCells(c, product) {
		b := m.Bought[cell]
		b.NewClicks += 65_536
		m.Bought[cell] = b
	}
}

// sold learns from a credited item.
func (m *Model) sold(c *Campaign, all []command.Credit, at int) {
	if m.Level < command.LevelTargetReturn {
		return
	}
	x, first, product := all[at], true, ""
	for i := range at {
		if before := all[i]; before.Purchase == x.Purchase && before.Campaign == x.Campaign && before.Bid == x.Bid {
			// Only items of one run of the purchase are the same purchase: a command names a purchase twice when it repeats it.
			run := true
			for _, between := range all[i:at] {
				run = run && between.Purchase == x.Purchase
			}
			first = first && !run
		}
	}
	for _, b := range c.Bids {
		if b.Ordinal == x.Bid && c.Format == model.Listing {
			product = b.Target
		}
	}
	value := min(micros(new(big.Int).Mul(big.NewInt(int64(x.UnitPrice)), big.NewInt(x.Quantity))), money.MaxMicros)
	if c.HasReturn() {
		c.Returned.Purchases++
		c.Returned.Value += value
	}
	for _, cell := range m.boughtCells(c, product) {
		b := m.Bought[cell]
		if first {
			b.NewPurchases += 65_536
		}
		b.NewValue = min(b.NewValue+uint64(value), valueMax)
		if !cell.IsFormat() {
			b.settle()
			b.show()
		}
		m.Bought[cell] = b
	}
}

// ageBought lets days pass for the purchases of a marketplace.
func (m *Model) ageBought(marketplace uint16, days uint32) {
	for cell, b := range m.Bought {
		if cell.Marketplace != marketplace || days == 0 {
			continue
		}
		b.settle()
		for range min(days, 1_500) {
			b.nextDay()
		}
		b.show()
		m.Bought[cell] = b
		if !cell.IsFormat() && b.Clicks+b.Pending < 65_536 {
			delete(m.Bought, cell)
		}
	}
}

// compareBought compares what the machine has learned of purchases, and what it published, with the model.
func (m *Model) compareBought(r *Replica, b shard.Queries, fail func(string, ...any)) {
	total, shown := 0, 0
	for marketplace := uint16(1); marketplace <= 2; marketplace++ {
		for _, got := range b.Purchases(marketplace) {
			total++
			want, known := m.Bought[got.PurchaseCell]
			if got.Day < m.Periods[marketplace].Day {
				got.Decay(m.Periods[marketplace].Day)
			}
			same := Bought{
				got.Clicks, got.Pending, got.Purchases.Purchases, got.Value, got.New.Clicks, got.New.Purchases, got.New.Value, want.Shown,
			}
			if !known || same != want {
				fail("of %+v was learned %+v, not %+v", got.PurchaseCell, same, want)
			}
			if read := r.Feed.Bought[got.PurchaseCell]; read != want.Shown {
				fail("auctions read %+v of %+v, not %+v", read, got.PurchaseCell, want.Shown)
			}
			if want.Shown != (learn.Bought{}) {
				shown++
			}
		}
	}
	if total != len(m.Bought) || shown != len(r.Feed.Bought) {
		fail("purchases of %d ads and formats are stored, not %d, and %d published, not %d", total, len(m.Bought), len(r.Feed.Bought), shown)
	}
	for _, c := range m.Campaigns {
		if got := b.Returned(c.Ordinal); got != c.Returned {
			fail("campaign %d has paid and sold %+v, not %+v", c.Ordinal, got, c.Returned)
		}
	}
}
