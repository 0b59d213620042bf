package auction_test

import (
	"math/big"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// boughtCount names what one group has counted of the purchases of a cell.
type boughtCount struct {
	group ids.Group
	market.PurchaseCell
}

// countPurchases changes what a group has counted of the purchases of a product or format.
func (r *randomMarket) countPurchases() {
	x := boughtCount{ids.Group(1 + r.IntN(3)), market.PurchaseCell{Marketplace: 1, Format: model.AdFormat(r.IntN(2))}}
	if r.IntN(4) > 0 && x.Format == model.Listing {
		x.Product = r.product()
	}
	b := learn.Bought{Clicks: r.Uint64() >> (20 + r.IntN(40)), Purchases: r.Uint64() >> (24 + r.IntN(40)), Value: r.Uint64() >> (9 + r.IntN(50))}
	if r.IntN(8) == 0 {
		b = learn.Bought{}
	}
	r.bought[x] = b
	r.m.PutPurchases(x.group, &x.PurchaseCell, b)
}

// baseBid is what a bid of a campaign with a target return is worth for a click: the purchases that are expected of it
// times the value of a purchase, divided by the target; at most the amount, at least a micro.
func (w *modelMarket) baseBid(c *campaign, b *model.Bid) *big.Int {
	amount, price := big.NewInt(int64(b.Amount)), int64(w.products[b.Target].Price)
	if c.Type != model.Autobidding || c.TargetROASMilli == 0 || c.Format != model.Listing || c.Charge != model.CPC {
		return amount
	}
	if w.raised == uint64(c.Group)<<32|uint64(b.Ordinal) {
		return amount
	}
	all, own := w.boughtOf(""), w.boughtOf(b.Target)
	rate := predict(own.counts, predict(all.counts, 10<<32/100+1))
	value, purchases := new(big.Int).Lsh(own.value, 16), new(big.Int).SetUint64(own.counts.Clicks)
	if price > 0 { // It counts like two purchases.
		value.Add(value, new(big.Int).Lsh(big.NewInt(price), 17))
		purchases.Add(purchases, big.NewInt(2<<16))
	}
	if purchases.Sign() == 0 {
		return amount
	}
	worth := value.Div(value, purchases)
	if worth.Sign() == 0 {
		return amount
	}
	if most := big.NewInt(4e18); worth.Cmp(most) > 0 {
		worth = most
	}
	worth.Mul(worth, big.NewInt(rate*1000))
	worth.Div(worth.Rsh(worth, 32), big.NewInt(int64(c.TargetROASMilli)))
	if worth.Sign() == 0 {
		worth.SetInt64(1)
	}
	if worth.Cmp(amount) < 0 {
		return worth
	}
	return amount
}

// boughtSum is a sum over groups, with clicks in place of impressions and purchases in place of clicks.
type boughtSum struct {
	counts learn.Counts
	value  *big.Int
}

// boughtOf sums what the groups have counted of a product, or of all listings.
func (w *modelMarket) boughtOf(product string) boughtSum {
	sum := boughtSum{value: new(big.Int)}
	for x, b := range w.bought {
		if x.Format == model.Listing && x.Product == product {
			sum.counts.Impressions += b.Clicks
			sum.counts.Clicks += b.Purchases
			sum.value.Add(sum.value, new(big.Int).SetUint64(b.Value))
		}
	}
	return sum
}
