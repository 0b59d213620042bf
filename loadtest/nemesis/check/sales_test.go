package check_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// shopFront simulates a correct node that sells: a campaign that pays for clicks and one that pays for purchases, whose products are bought by
// users who have clicked and by others, come back, and are charged back.
type shopFront struct {
	h        *history.History
	r        *rand.Rand
	now      history.Instant
	numbers  map[*history.Campaign]*history.Numbers
	bought   map[string]*history.Sales
	left     map[*history.Event]int64
	bodies   int
	charged  map[*history.Token]bool
	reversed map[*history.Token]bool
}

func sell(seed uint64, steps int) (*history.History, *check.FinalState) {
	v := &history.Vendor{ID: "v", Deposit: 1_000_000 * minor, Ample: true}
	s := &shopFront{
		h: history.New(), r: rand.New(rand.NewPCG(seed, 2)), numbers: map[*history.Campaign]*history.Numbers{},
		bought: map[string]*history.Sales{}, left: map[*history.Event]int64{}, charged: map[*history.Token]bool{}, reversed: map[*history.Token]bool{},
	}
	for i, c := range []*history.Campaign{
		{Name: "clicked", Vendor: v, Price: 7 * minor, Charge: history.Click, Budget: 900_000 * minor},
		{Name: "paid", Vendor: v, Price: 212 * minor, Charge: history.Purchase, Budget: 900_000 * minor},
	} {
		c.Index, c.ID = i, c.Name
		v.Campaigns = append(v.Campaigns, c)
		s.numbers[c], s.bought[c.Name] = &history.Numbers{}, &history.Sales{}
	}
	s.h.Vendors = []*history.Vendor{v}
	var tokens []*history.Token
	var purchases []*history.Event
	for i := range steps {
		switch p := s.r.IntN(10); {
		case p < 4 || len(purchases) == 0:
			token := s.see(i)
			tokens = append(tokens, token)
			purchases = append(purchases, s.buy(i, token))
		case p < 6:
			purchases = append(purchases, s.buy(i, tokens[s.r.IntN(len(tokens))]))
		case p < 7:
			purchases = append(purchases, s.buy(i, nil))
		case p < 9:
			s.takeBack(i, purchases[s.r.IntN(len(purchases))])
		default:
			s.reverse(tokens[s.r.IntN(len(tokens))])
		}
	}
	return s.h, s.final()
}

func (s *shopFront) send(events ...*history.Event) {
	s.bodies++
	s.now += 20 * milli
	s.h.Bodies = append(s.h.Bodies, &history.Body{Number: s.bodies, Events: events, Sent: s.now, Acked: s.now + 5*milli, Attempts: 1})
}

// see reports an impression and a click on a new token.
func (s *shopFront) see(i int) *history.Token {
	c := s.h.Vendors[0].Campaigns[s.r.IntN(2)]
	t := &history.Token{Text: fmt.Sprint("t", i), Campaign: c, Price: c.Price, Product: c.Name, User: fmt.Sprint("u", i), Invoke: s.now, Return: s.now + milli}
	n := s.numbers[c]
	for array := range history.Purchase {
		s.send(&history.Event{Array: array, ID: fmt.Sprint("e", i), Token: t})
		n.Total[array]++
	}
	if c.Charge == history.Click {
		n.Charged[history.Click]++
		n.Spent[history.Click] += c.Price
	}
	return t
}

// buy reports a purchase: by the user of a token, or by another one. A body repeats it sometimes.
func (s *shopFront) buy(i int, t *history.Token) *history.Event {
	e := &history.Event{Array: history.Purchase, ID: fmt.Sprint("p", i), Token: t, Product: "clicked", Pieces: 1 + s.r.Int64N(3)}
	if t != nil {
		e.Product = t.Product
	}
	for range 1 + s.r.IntN(2) {
		s.send(e)
	}
	s.left[e] = e.Pieces
	s.count(e, 1, e.Pieces)
	if e.Pays() && !s.charged[t] {
		s.charged[t] = true
		n := s.numbers[t.Campaign]
		n.Charged[history.Purchase]++
		n.Spent[history.Purchase] += t.Campaign.Price
	}
	return e
}

// count adds items and pieces of a purchase to the numbers.
func (s *shopFront) count(e *history.Event, items, pieces int64) {
	sold := history.Sales{Items: items, Pieces: pieces, Amount: shop.Micros(pieces) * history.UnitPrice}
	s.bought[e.Product].Add(sold)
	if e.Token != nil {
		s.numbers[e.Token.Campaign].Credited.Add(sold)
		s.numbers[e.Token.Campaign].Total[history.Purchase] += items
	}
}

func (s *shopFront) takeBack(i int, purchase *history.Event) {
	e := &history.Event{
		Array: history.Purchase, ID: fmt.Sprint("r", i), Token: purchase.Token, Product: purchase.Product, Pieces: 1 + s.r.Int64N(3), ReturnOf: purchase,
	}
	s.send(e)
	back := min(e.Pieces, s.left[purchase])
	if back == 0 {
		return
	}
	s.left[purchase] -= back
	items := int64(0)
	if s.left[purchase] == 0 {
		items = -1
	}
	s.count(purchase, items, -back)
}

func (s *shopFront) reverse(t *history.Token) {
	x := history.Reversal{Token: t, Invoke: s.now, Return: s.now + milli, Outcome: history.Refused, Attempts: 1}
	if s.charged[t] && !s.reversed[t] {
		s.reversed[t] = true
		x.Outcome, x.Amount = history.OK, t.Campaign.Price
		s.numbers[t.Campaign].Spent[history.Purchase] -= t.Campaign.Price
	}
	s.h.Reversed = append(s.h.Reversed, x)
}

// final is what the reports of a correct node say at the end.
func (s *shopFront) final() *check.FinalState {
	f := &check.FinalState{
		Reports: map[*history.Campaign]history.ReportRead{}, Budgets: map[*history.Campaign]history.BudgetRead{},
		Balances: map[*history.Vendor]shop.Micros{},
		Other: check.OtherReports{
			Daily: map[*history.Campaign]history.Numbers{}, ByProduct: map[*history.Campaign]history.Numbers{},
			Products: map[string]history.Numbers{}, Vendors: map[*history.Vendor]history.Numbers{},
		},
	}
	v := s.h.Vendors[0]
	f.Balances[v] = v.Deposit
	for _, c := range v.Campaigns {
		n := *s.numbers[c]
		n.Bought = *s.bought[c.Name]
		f.Other.Products[c.Name] = n
		f.Other.Marketplace.Add(&n)
		n.Bought = n.Credited
		f.Reports[c] = history.ReportRead{Campaign: c, Numbers: n}
		f.Other.Daily[c], f.Other.ByProduct[c] = n, n
		f.Budgets[c] = history.BudgetRead{Campaign: c, Amount: c.Budget, Used: n.Billed(), Remaining: c.Budget - n.Billed()}
		f.Balances[v] -= n.Billed()
	}
	f.Other.Vendors[v], f.Other.MarketplaceDaily = f.Other.Marketplace, f.Other.Marketplace
	return f
}

func salesResults(h *history.History, final *check.FinalState) []check.Result {
	return []check.Result{
		check.Sales(h, final), check.PurchaseCharges(h, final), check.Reversals(h), check.Sums(h, final),
		check.Events(h, final), check.Charges(h, final), check.Balances(h, final), check.Reads(h), check.Unknown(h),
		check.Overdelivery(h, final, 3*time.Second, 500*milli),
	}
}

func TestHonestSalesPass(t *testing.T) {
	for seed := range uint64(20) {
		h, final := sell(seed, 400)
		for i, v := range salesResults(h, final) {
			if v.Count > 0 || i < 4 && v.Checked < 5 {
				t.Errorf("seed %d: %s: %d compared, %d faults\n%s", seed, v.Check, v.Checked, v.Count, strings.Join(v.Violations, "\n"))
			}
		}
	}
}

// Each fault of a node is planted into what it reports or answers; the check named has to find it.
func TestPlantedFaultsOfSalesAreFound(t *testing.T) {
	const (
		sales     = "each purchase counted"
		charges   = "each token charged for"
		reversals = "each reversal"
		sums      = "reports of campaigns"
		wallets   = "wallet ="
	)
	one := history.Sales{Items: 1, Pieces: 1, Amount: history.UnitPrice}
	for name, plant := range map[string]struct {
		checks string // The beginnings of the names of the checks, separated by |.
		do     func(h *history.History, f *check.FinalState)
	}{
		"a purchase counted twice": {sales + "|" + sums, func(_ *history.History, f *check.FinalState) {
			product(f, func(n *history.Numbers) { n.Bought.Add(one) })
		}},
		"an item credited twice": {sales + "|" + sums, func(h *history.History, f *check.FinalState) {
			paid(h, f, func(n *history.Numbers) { n.Credited.Add(one) })
		}},
		"an item not credited": {sales, func(h *history.History, f *check.FinalState) {
			paid(h, f, func(n *history.Numbers) { n.Credited.Items-- })
		}},
		"a return taken back twice": {sales, func(h *history.History, f *check.FinalState) {
			paid(h, f, func(n *history.Numbers) { n.Credited.Pieces--; n.Credited.Amount -= history.UnitPrice })
		}},
		"a return at another price": {sales, func(h *history.History, f *check.FinalState) {
			paid(h, f, func(n *history.Numbers) { n.Credited.Amount++ })
		}},
		"a return not taken back": {sales, func(_ *history.History, f *check.FinalState) {
			product(f, func(n *history.Numbers) { n.Bought.Pieces++ })
		}},
		"a token charged twice": {charges + "|" + wallets, func(h *history.History, f *check.FinalState) {
			paid(h, f, func(n *history.Numbers) { n.Charged[history.Purchase]++; n.Spent[history.Purchase] += 212 * minor })
		}},
		"a purchase not charged": {charges, func(h *history.History, f *check.FinalState) {
			paid(h, f, func(n *history.Numbers) { n.Charged[history.Purchase]-- })
		}},
		"a charge above its price": {charges + "|" + wallets, func(h *history.History, f *check.FinalState) {
			paid(h, f, func(n *history.Numbers) { n.Spent[history.Purchase]++ })
		}},
		"a click charged of a campaign that pays for purchases": {charges, func(h *history.History, f *check.FinalState) {
			paid(h, f, func(n *history.Numbers) { n.Charged[history.Click]++ })
		}},
		"a reversal not in the report": {charges + "|" + wallets, func(h *history.History, f *check.FinalState) {
			paid(h, f, func(n *history.Numbers) { n.Spent[history.Purchase] += 212 * minor })
		}},
		"a reversal not in the wallet": {wallets, func(h *history.History, f *check.FinalState) { f.Balances[h.Vendors[0]] -= 212 * minor }},
		"a charge reversed twice": {reversals, func(h *history.History, _ *check.FinalState) {
			h.Reversed = append(h.Reversed, *answered(h))
		}},
		"more reversed than charged": {reversals, func(h *history.History, _ *check.FinalState) { answered(h).Amount++ }},
		"a reversal of no purchase": {reversals, func(h *history.History, _ *check.FinalState) {
			x := *answered(h)
			x.Token = &history.Token{Campaign: x.Token.Campaign, Price: x.Token.Price}
			h.Reversed = append(h.Reversed, x)
		}},
		"a day is missing": {sums, func(_ *history.History, f *check.FinalState) {
			f.Other.MarketplaceDaily.Spent[history.Click] -= 7 * minor
		}},
		"a campaign's day is missing": {sums, func(h *history.History, f *check.FinalState) {
			n := f.Other.Daily[campaign(h, "paid")]
			n.Total[history.Impression]--
			f.Other.Daily[campaign(h, "paid")] = n
		}},
		"a product of a campaign is missing": {sums, func(h *history.History, f *check.FinalState) {
			f.Other.ByProduct[campaign(h, "paid")] = history.Numbers{}
		}},
		"a vendor has a micro more": {sums, func(h *history.History, f *check.FinalState) {
			n := f.Other.Vendors[h.Vendors[0]]
			n.Spent[history.Purchase]++
			f.Other.Vendors[h.Vendors[0]] = n
		}},
		"the marketplace lacks a purchase": {sums, func(_ *history.History, f *check.FinalState) {
			f.Other.Marketplace.Bought.Items--
			f.Other.MarketplaceDaily.Bought.Items--
		}},
		"nothing was returned": {sales, func(h *history.History, _ *check.FinalState) {
			for _, b := range h.Bodies {
				if b.Events[0].ReturnOf != nil {
					b.Events = nil
				}
			}
		}},
	} {
		h, final := sell(3, 400)
		plant.do(h, final)
		found := map[string]bool{}
		for _, v := range salesResults(h, final) {
			if v.Count > 0 {
				found[v.Check] = true
			}
		}
		for prefix := range strings.SplitSeq(plant.checks, "|") {
			seen := false
			for check := range found {
				seen = seen || strings.HasPrefix(check, prefix)
			}
			if !seen {
				t.Errorf("%s: not found by %q, only by %v", name, prefix, found)
			}
		}
	}
}

func paid(h *history.History, f *check.FinalState, do func(*history.Numbers)) {
	c := campaign(h, "paid")
	r := f.Reports[c]
	do(&r.Numbers)
	f.Reports[c] = r
}

func product(f *check.FinalState, do func(*history.Numbers)) {
	n := f.Other.Products["paid"]
	do(&n)
	f.Other.Products["paid"] = n
}

// answered returns the first reversal that was made.
func answered(h *history.History) *history.Reversal {
	for i := range h.Reversed {
		if h.Reversed[i].Outcome == history.OK {
			return &h.Reversed[i]
		}
	}
	panic("no reversal was made")
}

// A run without purchases, returns, reversals or reports has proved nothing.
func TestSalesWithoutTrafficAreViolations(t *testing.T) {
	h, final := history.New(), &check.FinalState{}
	h.Vendors = []*history.Vendor{{ID: "v", Campaigns: []*history.Campaign{{Name: "c"}}}}
	for _, v := range []check.Result{check.Sales(h, final), check.PurchaseCharges(h, final), check.Reversals(h), check.Sums(h, final)} {
		if v.RequireCompared(); v.Count == 0 {
			t.Errorf("%s: passes without anything to compare", v.Check)
		}
	}
}

// What was sent and never acknowledged may be in the reports or not.
func TestUnknownPurchasesAndReturnsMayHaveHappened(t *testing.T) {
	c := &history.Campaign{Name: "c", Price: 212 * minor, Charge: history.Purchase}
	token := &history.Token{Campaign: c, Price: c.Price, Product: "p"}
	known := &history.Event{Array: history.Purchase, ID: "1", Token: token, Product: "p", Pieces: 3}
	unknown := &history.Event{Array: history.Purchase, ID: "2", Token: &history.Token{Campaign: c, Price: c.Price, Product: "p"}, Product: "p", Pieces: 2}
	back := &history.Event{Array: history.Purchase, ID: "3", Token: token, Product: "p", Pieces: 3, ReturnOf: known}
	h := history.New()
	h.Vendors = []*history.Vendor{{ID: "v", Campaigns: []*history.Campaign{c}}}
	h.Bodies = []*history.Body{
		{Events: []*history.Event{known}, Acked: time.Second},
		{Events: []*history.Event{unknown, back}, Acked: history.Never},
	}
	h.Reversed = []history.Reversal{{Token: token, Outcome: history.Refused, Doubtful: true}, {Token: token, Outcome: history.Refused}}
	state := func(items, pieces, charged, billed int64) *check.FinalState {
		sold := history.Sales{Items: items, Pieces: pieces, Amount: shop.Micros(pieces) * history.UnitPrice}
		n := history.Numbers{Credited: sold, Bought: sold}
		n.Charged[history.Purchase], n.Spent[history.Purchase] = charged, shop.Micros(billed)*minor
		return &check.FinalState{
			Reports: map[*history.Campaign]history.ReportRead{c: {Numbers: n}}, Other: check.OtherReports{Products: map[string]history.Numbers{"p": n}},
		}
	}
	for _, x := range []struct {
		final          *check.FinalState
		sales, charges bool
	}{
		{state(1, 3, 1, 212), true, true},
		{state(0, 0, 1, 0), true, true},
		{state(2, 5, 2, 424), true, true},
		{state(2, 6, 1, 212), false, true},
		{state(3, 5, 3, 636), false, false},
		{state(1, 3, 0, 0), true, false},
		{state(1, 3, 2, 0), true, false},
	} {
		sales, charges := check.Sales(h, x.final), check.PurchaseCharges(h, x.final)
		const noReturns = 1 // No return was acknowledged, which is a violation of its own.
		if (sales.Count == noReturns) != x.sales || (charges.Count == 0) != x.charges {
			t.Errorf("%+v:\n%v\n%v", x.final.Reports[c].Numbers, sales.Violations, charges.Violations)
		}
	}
}
