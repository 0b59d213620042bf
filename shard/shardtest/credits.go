package shardtest

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"reflect"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// touched is an impression or click of a campaign that a purchase may be credited to.
type touched struct {
	market   uint16
	received int64
	command.EventRecord
}

// Credited is an item of a purchase that was credited to a touch.
type Credited struct {
	To ids.UUID
	command.Credit
	Charged  *big.Int
	Clipped  int64
	Returned int64
}

// keptDays is how many UTC days touches and credits are kept.
const keptDays = 90

func (m *Model) kept(millis int64) bool {
	const day = 24 * hourMillis
	return millis/day > m.Now/day-keptDays
}

// attribute keeps what attribution needs of a counted event.
func (m *Model) attribute(marketplace uint16, c *Campaign, r *command.EventRecord) {
	switch {
	case m.Level < command.LevelAttribution || r.UserHash == 0:
	case r.Kind == event.Purchase && len(r.Items) > 0:
		o := &command.OpenCredit{Marketplace: marketplace, UserHash: r.UserHash, OccurredMillis: r.OccurredMillis}
		for _, item := range r.Items {
			o.Items = append(o.Items, command.CreditItem{
				ProductID: string(item.ProductID), VendorID: string(item.VendorID), Quantity: item.Quantity, UnitPrice: item.UnitPrice,
				Unknown: item.Unknown,
			})
		}
		m.Purchases[command.PurchaseName{OpenedMillis: m.Now, Key: r.Key}] = o
	case c != nil && (r.Kind == event.Click || r.Kind == event.Impression):
		n := 0
		for _, t := range m.touched {
			const day = 24 * hourMillis
			if t.market == marketplace && t.UserHash == r.UserHash && t.Kind == r.Kind && t.OccurredMillis/day == r.OccurredMillis/day {
				n++
			}
		}
		if first := max(m.touchesFrom[marketplace], m.firstTouchDay(marketplace)); n < m.TouchesMax && r.OccurredMillis/dayMillis >= first {
			m.touched = append(m.touched, touched{marketplace, m.Now, *r})
		}
	}
}

// Decide applies a DecideCredits.
func (m *Model) Decide(x *command.DecideCredits) command.Result {
	for _, d := range x.Decisions {
		o := m.Purchases[d.Purchase]
		if o == nil || o.Decided {
			continue
		}
		m.recordDecision(&d, o)
		if len(d.Credits) == 0 {
			delete(m.Purchases, d.Purchase)
			continue
		}
		o.Decided, o.Credits = true, d.Credits
	}
	return command.Result{}
}

// Credit applies an ApplyCredits.
func (m *Model) Credit(x *command.ApplyCredits) command.Result {
	for i, c := range x.Credits {
		if !m.kept(c.Purchase.OpenedMillis) || slices.ContainsFunc(m.Credits, func(old Credited) bool {
			return sameItem(&old.Credit, &c)
		}) {
			continue
		}
		for _, to := range m.Campaigns {
			if to.Ordinal == c.Campaign && to.Marketplace == c.Marketplace {
				credited := Credited{To: to.ID, Credit: c, Charged: new(big.Int)}
				if m.Level >= command.LevelUsers {
					credited.UserHash = 0
				}
				if m.paidByPurchase(to, &c) {
					in := command.ReversalPart{Cell: c.Cell, Bid: c.Bid, Kind: event.Purchase, Product: c.Product}
					result := m.debit(to, c.Price, c.ChargeKey, credited.Charged, in)
					credited.Clipped = int64(m.overdeliver(to, result.Clipped))
					m.participate(to.Marketplace, c.UserHash, c.Purchase.OpenedMillis, event.Purchase, result.Charged)
				}
				m.Credits = append(m.Credits, credited)
				m.sold(to, x.Credits, i)
			}
		}
	}
	return command.Result{}
}

// sameItem reports whether two credits are of one item of a purchase. An id opens at most one purchase a day, because it is
// known for 72 hours.
func sameItem(a, b *command.Credit) bool {
	const day = 24 * hourMillis
	return a.Purchase.Key == b.Purchase.Key && a.Purchase.OpenedMillis/day == b.Purchase.OpenedMillis/day && a.Item == b.Item
}

// paidByPurchase reports whether a credit is the first that pays for its token.
func (m *Model) paidByPurchase(to *Campaign, c *command.Credit) bool {
	id := seenKey{"paid by purchase", c.Issued, c.ChargeKey}
	if c.Price == 0 || c.ChargeKey == [16]byte{} || to.Status == model.Terminated || m.tooEarly(c.Issued, 121*24) || m.seen[id] {
		return false
	}
	m.seen[id] = true
	return true
}

// Close applies a CloseCredits.
func (m *Model) Close(x *command.CloseCredits) command.Result {
	for _, n := range x.Purchases {
		delete(m.Purchases, n)
	}
	return command.Result{}
}

// counts are the counters of a credited item.
func (c *Credited) counts() (one rollup.Counters) {
	if c.Charged.Sign() > 0 {
		one.ChargedPurchases, one.SpentPurchases = 1, micros(c.Charged)
	}
	left := c.Quantity - c.Returned
	amount := micros(new(big.Int).Mul(big.NewInt(int64(c.UnitPrice)), big.NewInt(left)))
	one.Attributed = rollup.Sales{Count: min(left, 1), Quantity: left, Amount: amount}
	if c.Halo {
		one.Halo = one.Attributed
	}
	if c.Kind == event.Impression {
		one.Viewed = one.Attributed
	}
	return one
}

// compareCredits compares touches, open purchases and credited items.
func (m *Model) compareCredits(b shard.Queries, fail func(string, ...any)) {
	open := b.OpenCredits(1<<20, 1<<30)
	if len(open) != len(m.Purchases) {
		fail("%d open purchases, not %d", len(open), len(m.Purchases))
	}
	for _, o := range open {
		if want := m.Purchases[o.Name]; want == nil || !reflect.DeepEqual(o.OpenCredit, *want) {
			fail("purchase %+v is open as %+v, not %+v", o.Name, o.OpenCredit, want)
		}
	}
	sold := map[ids.UUID]map[string]rollup.Counters{}
	for i := range m.Credits {
		c := &m.Credits[i]
		if got, found := b.Credit(&c.Purchase, c.Item); m.kept(c.Purchase.OpenedMillis) &&
			(!found || !reflect.DeepEqual(got.Credit, c.Credit) || !same(got.Charged, c.Charged) || got.Returned != c.Returned) {
			fail("item is credited as %+v, not %+v", got, c)
		}
		if sold[c.To] == nil {
			sold[c.To] = map[string]rollup.Counters{}
		}
		sum, one := sold[c.To][c.Product], c.counts()
		sum.Add(&one)
		sold[c.To][c.Product] = sum
	}
	for id, want := range sold {
		m.subtractReversedSales(id, want)
		got := map[string]rollup.Counters{}
		for _, row := range b.CampaignSales(id, 0, 1<<32-1) {
			got[row.Product] = row.Counters
		}
		if !reflect.DeepEqual(got, want) {
			fail("campaign %s sold %+v, not %+v", id, got, want)
		}
	}
	m.compareTouches(b, fail)
	m.compareReturns(b, fail)
}

func (m *Model) compareTouches(b shard.Queries, fail func(string, ...any)) {
	const day = 24 * hourMillis
	first := max(0, m.Now/day-keptDays+1)
	n := 0
	for marketplace := uint16(1); marketplace <= 2; marketplace++ {
		for user := uint64(1); user <= 3; user++ {
			b.Touches(marketplace, user, uint32(first), uint32(m.Now/day)+1, func(t *shard.Touch) bool {
				n++
				if !slices.ContainsFunc(m.touched, func(w touched) bool { return w.equal(t) }) {
					fail("touch %+v was never made", *t)
				}
				return true
			})
		}
	}
	want := 0
	for _, w := range m.touched {
		if m.kept(w.OccurredMillis) {
			want++
		}
	}
	if n != want {
		fail("%d touches, not %d", n, want)
	}
}

func (w *touched) equal(t *shard.Touch) bool {
	paid := w.Charge == model.CPA
	return w.market == t.Marketplace && w.UserHash == t.UserHash && w.Kind == t.Kind && w.OccurredMillis == t.OccurredMillis &&
		w.received == t.ReceivedMillis && w.Bucket == t.Issued && w.Campaign == t.Campaign && w.Bid == t.Bid && w.Cell == t.Cell &&
		w.Place == t.Place &&
		(paid && w.Price == t.Price && w.ChargeKey == t.ChargeKey || !paid && t.Price == 0 && t.ChargeKey == [16]byte{})
}

// credits returns a step of a credit: a decision about an open purchase, the application of decided credits, or a close.
// Sometimes it is one that another node has made before, or one of no purchase.
func (g *Generator) credits() Step {
	switch g.choose(4, "step of a credit") {
	case 0, 1:
		x := command.DecideCredits{}
		for range 1 + g.choose(2, "purchases") {
			x.Decisions = append(x.Decisions, g.decision())
		}
		return g.leveled(command.LevelAttribution, "decide", command.AppendDecideCredits(nil, g.now, &x), func() command.Result { return g.Model.Decide(&x) })
	case 2:
		x := command.ApplyCredits{}
		for range 1 + g.choose(2, "of purchases") {
			x.Credits = append(x.Credits, g.decision().Credits...)
		}
		return g.leveled(command.LevelAttribution, "credit", command.AppendApplyCredits(nil, g.now, &x), func() command.Result { return g.Model.Credit(&x) })
	default:
		x := command.CloseCredits{Purchases: []command.PurchaseName{g.decision().Purchase}}
		return g.leveled(command.LevelAttribution, "close", command.AppendCloseCredits(nil, g.now, &x), func() command.Result { return g.Model.Close(&x) })
	}
}

// leveled is a step that the machine refuses below a level.
func (g *Generator) leveled(level command.Level, name string, cmd []byte, do func() command.Result) Step {
	s := Step{Name: name, Command: cmd, Result: command.Result{Refusal: command.TooEarly}}
	if g.Model.Level >= level {
		s.Result = do()
	}
	return s
}

// decision returns a decision about a purchase, often one that was made before.
func (g *Generator) decision() command.CreditDecision {
	if n := len(g.decisions); n > 0 && g.choose(2, "decided before") == 0 {
		return g.decisions[max(0, n-1-g.choose(6, "which decision"))]
	}
	d := command.CreditDecision{Purchase: command.PurchaseName{OpenedMillis: g.now, Key: g.id('e', g.choose(50, "purchase"))}}
	if len(g.Model.Purchases) > 0 {
		var names []command.PurchaseName
		for n := range g.Model.Purchases {
			names = append(names, n)
		}
		slices.SortFunc(names, func(a, b command.PurchaseName) int {
			return cmp.Or(cmp.Compare(a.OpenedMillis, b.OpenedMillis), bytes.Compare(a.Key[:], b.Key[:]))
		})
		d.Purchase = names[g.choose(len(names), "which open purchase")]
	}
	for item := range g.choose(3, "credits") {
		c := command.Credit{
			Purchase: d.Purchase, Item: uint16(item), Group: 1, Marketplace: g.market(), Campaign: uint32(1 + g.choose(4, "campaign")),
			Bid: uint32(g.choose(5, "bid")), Kind: event.Kind(g.choose(2, "kind of touch")), Halo: g.choose(2, "halo") > 0,
			Cell: event.BucketOf(g.now) * 4, UserHash: uint64(g.choose(3, "user")), Product: fmt.Sprint("p", g.choose(3, "product")),
			Quantity: int64(1 + g.choose(3, "quantity")), UnitPrice: g.amount("item price"),
			Attribution: model.Attribution(g.choose(model.Attributions, "attribution")), Place: g.place(uint8(g.choose(2, "placement"))),
		}
		if g.choose(2, "paid by purchases") > 0 {
			n := g.choose(8, "token")
			for len(g.issued) <= n { // A token has one hour of issue.
				g.issued = append(g.issued, event.BucketOf(g.now)-[]uint32{0, 2_000, 2_904, 2_905}[g.choose(4, "hours ago")])
			}
			c.Price, c.ChargeKey, c.Issued = g.amount("price"), g.id('p', 1+n), g.issued[n]
		}
		d.Credits = append(d.Credits, c)
	}
	g.decisions = append(g.decisions, d)
	return d
}
