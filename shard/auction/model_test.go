package auction_test

import (
	"math/big"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// The model is a second opinion on the auction: plain loops over plain values, texts instead of hashes, big integers
// instead of 128-bit ones, one sort instead of a top-k. It shares with the engine only the hash that breaks ties.

// offer is a bid that passed the gates.
type offer struct {
	product, vendor, campaign, source string
	external                          bool
	amount                            money.Micros
	charge                            market.ChargeType
	first                             bool
	quality, weight, score            *big.Int
	tie, key                          uint64
}

// auction answers a query the slow way.
func (w *world) auction(q query, t *auction.Ticket, seq uint64) outcome {
	var o outcome
	var offers []*offer
	seed := market.Mix(uint64(t.Marketplace)<<48|uint64(t.Node)<<32|uint64(t.Epoch), seq)
	for key, b := range w.bids {
		if !w.allows(q, b.Target) {
			continue
		}
		c := w.campaigns[key.campaign]
		if reason, lost := w.loses(q, c, &b, t.NowMillis); lost {
			o.lost[reason]++
			continue
		}
		bidKey := uint64(c.Group)<<32 | uint64(b.Ordinal)
		x := &offer{
			product: b.Target, vendor: c.VendorID, campaign: c.ID.String(), amount: b.Amount, charge: c.Charge,
			first: c.Price == market.FirstPrice, quality: w.quality(q, b.Target), key: bidKey, tie: market.Mix(seed, bidKey),
		}
		if len(q.external) > 0 {
			x.source = w.settings.ExternalDemand.OwnValue
		}
		offers = append(offers, x)
	}
	for i, b := range q.external {
		p, known := w.products[b.product]
		if !known || !slices.Contains(q.products, b.product) {
			continue
		}
		quality := w.quality(q, b.product)
		switch {
		case !p.Active:
			o.lost[auction.ProductInactive]++
		case !passes(q, p):
			o.lost[auction.FilterMismatch]++
		case quality.Sign() == 0 || b.amount <= w.settings.Reserve[market.CPC]:
			o.lost[auction.Reserve]++
		default:
			key := 1<<63 | uint64(i)
			offers = append(offers, &offer{
				product: b.product, vendor: "\x00external", source: b.source, external: true, amount: b.amount, charge: market.CPC,
				quality: quality, key: key, tie: market.Mix(seed, key),
			})
		}
	}
	w.rank(q, offers, &o)
	return o
}

// allows says whether the contexts let a bid on the product compete at all.
func (w *world) allows(q query, product string) bool {
	if len(q.products) > 0 {
		return slices.Contains(q.products, product)
	}
	return w.satisfies(q, product)
}

func (w *world) loses(q query, c *campaign, b *market.Bid, now int64) (auction.Reason, bool) {
	p, known := w.products[b.Target]
	switch {
	case !c.Active || c.Status == market.Terminated || !b.Active:
		return auction.Inactive, true
	case now < c.StartMillis:
		return auction.NotStarted, true
	case c.EndMillis != 0 && now >= c.EndMillis:
		return auction.Ended, true
	case c.Status != market.Approved:
		return auction.NotApproved, true
	case !known || !p.Active:
		return auction.ProductInactive, true
	case !w.triggered(q, b):
		return auction.Trigger, true
	case b.Location != "" && !slices.ContainsFunc(q.locations, func(l string) bool { return strings.EqualFold(l, b.Location) }):
		return auction.Geo, true
	case !passes(q, p):
		return auction.FilterMismatch, true
	case w.quality(q, b.Target).Sign() == 0 || b.Amount <= w.settings.Reserve[c.Charge]:
		return auction.Reserve, true
	case w.stale != nil && w.stale.Has(uint16(c.Group)):
		return auction.Stale, true
	case c.left <= 0:
		return auction.Budget, true
	case c.wallet <= 0:
		return auction.Wallet, true
	}
	return 0, false
}

func (w *world) triggered(q query, b *market.Bid) bool {
	if len(b.Triggers) == 0 {
		return true
	}
	for _, t := range b.Triggers {
		switch t.Kind {
		case market.TriggerProduct:
			if slices.Contains(q.products, t.Value) {
				return true
			}
		case market.TriggerCategory:
			for _, clause := range q.clauses {
				for _, name := range clause {
					if name == t.Value || slices.Contains(w.ancestors(name), t.Value) {
						return true
					}
				}
			}
		case market.TriggerCategories:
			if w.satisfies(q, t.Value) {
				return true
			}
		}
	}
	return false
}

// ancestors lists a category of the catalog and what it lies in.
func (w *world) ancestors(id string) (list []string) {
	for {
		c, known := w.categories[id]
		if !known || len(list) > len(w.categories) {
			return list
		}
		list = append(list, id)
		id = c.ParentID
	}
}

// satisfies says whether a product is in the categories that the query demands.
func (w *world) satisfies(q query, product string) bool {
	var in []string
	for _, c := range w.products[product].Categories {
		in = append(in, w.ancestors(c)...)
	}
	for _, clause := range q.clauses {
		if !slices.ContainsFunc(clause, func(name string) bool { return slices.Contains(in, name) }) {
			return false
		}
	}
	return len(q.clauses) > 0
}

func passes(q query, p market.Product) bool {
	var found []bool
	for _, x := range q.attributes {
		found = append(found, slices.Contains(p.Attributes, x))
	}
	for _, x := range q.promotions {
		found = append(found, slices.Contains(p.Promotions, x))
	}
	if len(found) == 0 {
		return true
	}
	return slices.Contains(found, true) && (q.or || !slices.Contains(found, false))
}

func (w *world) quality(q query, product string) *big.Int {
	quality := big.NewInt(int64(w.products[product].Quality))
	if i := slices.Index(q.products, product); len(q.quality) > 0 {
		return quality.Mul(quality, big.NewInt(int64(q.quality[i])))
	}
	return quality.Mul(quality, big.NewInt(market.QualityOne))
}

func (w *world) rank(q query, offers []*offer, o *outcome) {
	types := map[market.ChargeType]bool{}
	for _, x := range offers {
		types[x.charge] = true
	}
	for _, x := range offers {
		x.weight = weight(types, x)
		x.score = new(big.Int).Mul(big.NewInt(int64(x.amount)), x.weight)
	}
	slices.SortFunc(offers, func(a, b *offer) int {
		if c := b.score.Cmp(a.score); c != 0 {
			return c
		}
		if a.tie != b.tie {
			if a.tie < b.tie {
				return -1
			}
			return 1
		}
		if a.key < b.key {
			return -1
		}
		return 1
	})
	taken := map[string]bool{}
	won := map[*offer]bool{}
	for i, x := range offers {
		if taken[x.product] || len(won) == min(q.slots, 40) {
			continue
		}
		var next *offer
		for _, y := range offers[i+1:] {
			if y.vendor != x.vendor && !taken[y.product] {
				next = y
				break
			}
		}
		taken[x.product], won[x] = true, true
		o.winners = append(o.winners, win{product: x.product, campaign: x.campaign, source: x.source, price: w.price(x, next)})
	}
	for _, x := range offers {
		switch {
		case won[x]:
		case taken[x.product]:
			o.lost[auction.Diversity]++
		default:
			o.lost[auction.Outranked]++
		}
	}
}

// weight follows the table of the design: what one unit of the bid is worth for an impression.
func weight(types map[market.ChargeType]bool, x *offer) *big.Int {
	w := new(big.Int).Set(x.quality)
	if len(types) == 1 {
		return w
	}
	part := func(n, of int64) {
		rate := big.NewInt(n << 32 / of)
		w.Mul(w, rate).Rsh(w, 32)
	}
	if x.charge == market.CPM {
		w.Div(w, big.NewInt(1000))
	}
	if x.charge == market.CPA {
		part(10, 100)
	}
	if types[market.CPM] && x.charge != market.CPM {
		part(3, 100)
	}
	if w.Sign() == 0 {
		w.SetInt64(1)
	}
	return w
}

func (w *world) price(x, next *offer) money.Micros {
	if x.external {
		return 0
	}
	price := x.amount
	if !x.first {
		least := max(w.settings.Reserve[x.charge], money.PerMinor(w.settings.CurrencyExponent))
		if next != nil {
			worth, rest := new(big.Int).DivMod(next.score, x.weight, new(big.Int))
			if rest.Sign() > 0 {
				worth.Add(worth, big.NewInt(1))
			}
			least = max(least, money.Micros(worth.Int64())+1)
		}
		price = min(price, least)
	}
	if x.charge == market.CPM {
		return min((price+999)/1000, max(1, x.amount/1000))
	}
	return price
}
