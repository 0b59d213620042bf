package shard

import (
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
)

// ClickRate is what a group has counted of one cell.
type ClickRate struct {
	market.ClickCell
	learn.Rate
}

// ClickRates lists what the group has counted of a marketplace's impressions and clicks, in the order of formats, levels,
// placements and ads. Each has decayed to the day on which it was taught last.
func (b Queries) ClickRates(marketplace uint16) (all []ClickRate) {
	prefix := appendU16([]byte{tableClickRate}, marketplace)
	b.R.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
		x := ClickRate{ClickCell: clickCellOf(string(key))}
		if err := readClickRate(&x.Rate, value); err != nil {
			panic("shard: stored click rate: " + err.Error())
		}
		all = append(all, x)
		return true
	})
	return all
}

// Bought is what a group has counted of the purchases of one cell.
type Bought struct {
	market.PurchaseCell
	learn.Purchases
}

// Purchases lists what the group has learned of the purchases after clicks in a marketplace, in the order of formats and
// ads. Each has decayed to the day on which it was taught last.
func (b Queries) Purchases(marketplace uint16) (all []Bought) {
	prefix := appendU16([]byte{tablePurchases}, marketplace)
	b.R.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
		x := Bought{PurchaseCell: purchaseCellOf(string(key))}
		if err := readPurchases(&x.Purchases, value); err != nil {
			panic("shard: stored purchases: " + err.Error())
		}
		all = append(all, x)
		return true
	})
	return all
}

// Returned returns what a campaign with a target return has paid and sold.
func (b Queries) Returned(campaign uint32) market.Returned {
	stored, found := b.R.Get(appendU32([]byte{tableReturned}, campaign))
	if !found {
		return market.Returned{}
	}
	return must(readReturned(stored))
}

// ClickDelay returns what the group has learned of the delay of a marketplace's clicks.
func (b Queries) ClickDelay(marketplace uint16) learn.Delay {
	stored, found := b.R.Get(keyClickDelay(nil, marketplace))
	if !found {
		return learn.Delay{}
	}
	return must(readDelay(stored))
}

// Traffic returns what the meta group has learned of the traffic of a marketplace.
func (b Queries) Traffic(marketplace uint16) (t Traffic) {
	if stored, found := b.R.Get(keyTraffic(nil, marketplace)); found {
		mustTraffic(&t, stored)
	}
	return t
}
