package main_test

import (
	"fmt"
	"testing"

	"github.com/gavel-ads/gavel/loadtest/shop"
)

// line is the report of one campaign.
type line struct {
	campaign *campaign
	total    [kinds]int64
	charged  [kinds]int64
	billed   [kinds]shop.Micros
	spent    shop.Micros // Sum of billed.
	used     shop.Micros // Amount used of the campaign's budget, in whole minor units.
}

func newLine(c *campaign, r *shop.Report) (line, error) {
	l := line{campaign: c}
	for k, of := range [kinds]shop.Interactions{r.Impressions, r.Clicks} {
		billed, err := of.Spent()
		if err != nil {
			return l, fmt.Errorf("report of %s: %w", c.name, err)
		}
		l.total[k], l.charged[k], l.billed[k] = of.Total, of.Charged, billed
		l.spent += billed
	}
	return l, nil
}

// sellerMoney is a wallet and the reports of its campaigns.
//
// What must hold, for campaign c with n charge keys acknowledged, price p and budget B, and a wallet of deposit D:
//
//   - every acknowledged event is counted once: totals equal the history's, exactly.
//   - spent <= B and the sum of spent <= D: nothing is billed above them.
//   - balance = D - sum of spent.
//   - The wallet pays what the campaigns want while it lasts: sum of spent = min(D, sum of min(n*p, B)). A charge is the
//     least of price, budget left and wallet left, and only these three bound it, so the order of events, which the
//     history does not know, does not matter.
//   - While the wallet lasts, spent = min(n*p, B) for each campaign.
//   - At most one charge of a campaign is clipped, the one that uses up its budget or the wallet; after it nothing is
//     charged. So charged = spent/p, rounded up.
//
// For second-price campaigns p is an upper bound; their budgets are large, so charged = n holds as well.
type sellerMoney struct {
	seller  *seller
	lines   []line
	balance shop.Micros
}

// check returns the faults as texts and marks campaigns whose money is used up.
func (b *sellerMoney) check() []string {
	var faults []string
	fault := func(format string, a ...any) { faults = append(faults, b.seller.id+": "+fmt.Sprintf(format, a...)) }
	var spent, wanted shop.Micros
	exact := true
	for i := range b.lines {
		l := &b.lines[i]
		spent += l.spent
		wanted += l.campaign.wants()
		exact = exact && l.campaign.exact
	}
	empty := wanted >= b.seller.deposit
	for i := range b.lines {
		b.lines[i].check(empty, fault)
	}
	if spent > b.seller.deposit {
		fault("OVERDRAFT: %v spent of a deposit of %v", spent, b.seller.deposit)
	}
	if want := min(b.seller.deposit, wanted); exact && spent != want {
		fault("%v spent, the history says %v (deposit %v)", spent, want, b.seller.deposit)
	}
	// A balance may be reported in whole minor units.
	if off := b.seller.deposit - spent - b.balance; off <= -shop.MinorUnit || off >= shop.MinorUnit {
		fault("balance %v, but deposit %v less %v spent is %v", b.balance, b.seller.deposit, spent, b.seller.deposit-spent)
	}
	return faults
}

// wants returns what a campaign pays while its wallet lasts.
func (c *campaign) wants() shop.Micros {
	w := shop.Micros(c.charges) * c.price
	if c.budget > 0 {
		w = min(w, c.budget)
	}
	return w
}

func (l *line) check(walletEmpty bool, fault func(string, ...any)) {
	c := l.campaign
	for k, total := range l.total {
		if total != c.events[k] {
			fault("%s: %d %s reported, %d acknowledged (%+d)", c.name, total, kindNames[k], c.events[k], total-c.events[k])
		}
		if kind(k) != c.charge && (l.charged[k] != 0 || l.billed[k] != 0) {
			fault("%s: %d %s charged, which are free", c.name, l.charged[k], kindNames[k])
		}
	}
	if c.budget > 0 && (l.spent > c.budget || l.used > c.budget) {
		fault("%s: OVERSPEND: %v billed, %v used of a budget of %v", c.name, l.spent, l.used, c.budget)
	}
	if off := l.spent - l.used; off <= -shop.MinorUnit || off >= shop.MinorUnit {
		fault("%s: the report says %v spent, the budget %v", c.name, l.spent, l.used)
	}
	charged := l.charged[c.charge]
	switch {
	case charged > c.charges:
		fault("%s: DOUBLE CHARGE: %d charged, %d tokens reported", c.name, charged, c.charges)
	case c.exact && charged != int64((l.spent+c.price-1)/c.price):
		fault("%s: %d charged for %v at %v each", c.name, charged, l.spent, c.price)
	case c.exact && !walletEmpty && l.spent != c.wants():
		fault("%s: %v spent, the history says %v: %d tokens at %v, budget %v", c.name, l.spent, c.wants(), c.charges, c.price, c.budget)
	case !c.exact && charged != c.charges:
		fault("%s: %d charged, %d tokens reported", c.name, charged, c.charges)
	case !c.exact && (l.spent > c.wants() || l.spent <= 0 && charged > 0):
		fault("%s: %v spent for %d charges of at most %v", c.name, l.spent, charged, c.price)
	}
	c.ranOut = c.ranOut || walletEmpty || c.budget > 0 && l.spent == c.budget
}

// The check must be right before it can be used: it accepts correct reports and finds every planted fault.
func TestMoneyCheckFindsPlantedFaults(t *testing.T) {
	honest := func() *sellerMoney {
		s := &seller{id: "s", deposit: minor(1_000)}
		full := &campaign{name: "full", seller: s, price: minor(30), exact: true, charge: click, charges: 7, events: [kinds]int64{9, 8}}
		cut := &campaign{
			name: "cut", seller: s, price: minor(40), exact: true, charge: impression, budget: minor(100), charges: 3,
			events: [kinds]int64{4, 0},
		}
		return &sellerMoney{seller: s, balance: minor(1_000 - 210 - 100), lines: []line{
			{campaign: full, total: full.events, charged: [kinds]int64{0, 7}, billed: [kinds]shop.Micros{0, minor(210)}, spent: minor(210), used: minor(210)},
			{campaign: cut, total: cut.events, charged: [kinds]int64{3, 0}, billed: [kinds]shop.Micros{minor(100), 0}, spent: minor(100), used: minor(100)},
		}}
	}
	if b := honest(); b.check() != nil || b.lines[0].campaign.ranOut || !b.lines[1].campaign.ranOut {
		t.Fatalf("correct reports: %q", b.check())
	}
	for name, plant := range map[string]func(*sellerMoney){
		"an event lost":          func(b *sellerMoney) { b.lines[0].total[impression]-- },
		"an event twice":         func(b *sellerMoney) { b.lines[0].total[click]++ },
		"a free event charged":   func(b *sellerMoney) { b.lines[0].charged[impression]++ },
		"a token charged twice":  func(b *sellerMoney) { b.lines[0].charged[click]++ },
		"a charge lost":          func(b *sellerMoney) { b.lines[0].charged[click]--; b.pay(0, -minor(30)) },
		"a charge too much":      func(b *sellerMoney) { b.pay(0, minor(30)) },
		"one unit too much":      func(b *sellerMoney) { b.pay(0, 1) },
		"budget overspent":       func(b *sellerMoney) { b.pay(1, minor(20)) },
		"budget not used":        func(b *sellerMoney) { b.pay(1, -minor(1)) },
		"budget counter differs": func(b *sellerMoney) { b.lines[1].used -= minor(1) },
		"wallet too full":        func(b *sellerMoney) { b.balance += minor(1) },
		"wallet too empty":       func(b *sellerMoney) { b.balance -= minor(1) },
		"wallet overdrawn": func(b *sellerMoney) {
			b.seller.deposit = minor(300)
			b.balance = -minor(10)
		},
	} {
		b := honest()
		plant(b)
		if b.check() == nil {
			t.Errorf("%s: not found", name)
		}
	}
}

// pay bills a campaign more or less, consistently through its budget and its wallet.
func (b *sellerMoney) pay(i int, amount shop.Micros) {
	l := &b.lines[i]
	l.billed[l.campaign.charge] += amount
	l.spent += amount
	l.used += amount
	b.balance -= amount
}
