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
