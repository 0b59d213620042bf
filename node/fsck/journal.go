package fsck

import (
	"fmt"
	"math/big"
)

// dayMillis is how long the request id of an adjustment is stored at least.
const dayMillis = 24 * 3_600_000

// checkLine checks one line of the journal. After a problem it continues with what is stored, so that one change causes
// one problem.
func (b *groupCheck) checkLine(seq uint64, value []byte) {
	place := fmt.Sprintf("line %d", seq)
	if b.seq+1 != seq {
		b.problem(place, "lines %d to %d before it are missing", b.seq+1, seq-1)
	}
	b.g.Lines++
	l, ok := readLine(seq, value)
	if !ok {
		b.problem(place, "cannot be decoded")
		b.seq = seq
		return
	}
	if b.seq+1 == seq && nextChain(b.chain, seq, value) != l.chain {
		b.problem(place, "breaks the chain: it or the line before was changed")
	}
	if l.millis < b.millis {
		b.problem(place, "is older than the line before it")
	}
	b.seq, b.chain, b.millis = seq, l.chain, max(b.millis, l.millis)
	closes := b.closeLeg(&l)
	switch l.kind {
	case lineClick, lineImpression, linePurchase:
		b.followCharge(place, &l)
	case lineClickReversal, lineImpressionReversal, linePurchaseReversal:
		b.entryAccounts[seq] = l.wallet
		b.followReversal(place, &l)
	case lineAdjustment:
		b.entryAccounts[seq] = l.wallet
		b.followAdjustment(place, &l)
	case lineLeg, lineSent, lineReceived, lineReturned:
		b.entryAccounts[seq] = l.wallet
		b.followTransfer(place, &l)
		if l.kind == lineLeg && !closes {
			b.openLeg = &l
		}
	case lineBudget:
		b.followBudget(place, &l)
	case lineCarried:
		b.followCarried(place, &l)
	case lineMode:
		b.postPaid[uint16(l.bid)] = l.price != 0 // An ordinal has 16 bits.
	default:
		b.r.note("group %d, %s: kind %d was written by a newer version and is not understood", b.g.Group, place, l.kind)
	}
}

// followCharge checks the decision of a charge: it is at most its price, at most what is left of the budget in force,
// and, for a prepaid wallet, at most the balance.
func (b *groupCheck) followCharge(place string, l *line) {
	b.g.Charges++
	c, w := b.campaigns[l.campaign], b.wallets[l.wallet]
	switch {
	case c == nil || !c.hasRecord:
		b.problem(place, "charges campaign %d, which does not exist", l.campaign)
		return
	case w == nil || c.budgetKnown && l.wallet != c.payer || !c.budgetKnown && w.vendor != c.vendor:
		b.problem(place, "charges wallet %s, which is not the campaign's", uuid(l.wallet))
		return
	case l.amount < 0 || l.amount > l.price:
		b.problem(place, "charges %d of a price of %d", l.amount, l.price)
	}
	amount := big.NewInt(l.amount)
	c.total.Add(c.total, amount)
	c.period.Add(c.period, amount)
	w.spent.Add(w.spent, amount)
	w.balance.Sub(w.balance, amount)
	b.tally(c.id, l.bid).decide(l, amount)
	if !c.budgetKnown {
		b.g.Unchecked++
		return
	}
	if limit := c.limit(); l.amount > 0 && c.budget.Sign() > 0 && c.period.Cmp(limit) > 0 {
		b.problem(place, "OVERSPEND: campaign %s spent %s of a budget of %s", uuid(c.id), c.period, limit)
	}
	if l.amount > 0 && !b.postPaid[c.marketplace] && w.balance.Sign() < 0 {
		b.problem(place, "OVERDRAFT: the charge brings prepaid wallet %s to %s", uuid(l.wallet), w.balance)
	}
}

func (t *tally) decide(l *line, amount *big.Int) {
	paid := int64(0)
	if l.amount != 0 {
		paid = 1
	}
	switch l.kind {
	case lineClick:
		t.clicks++
		t.paidClicks += paid
		t.spentClicks.Add(&t.spentClicks, amount)
	case linePurchase:
		t.paidPurchases += paid
		t.spentPurchases.Add(&t.spentPurchases, amount)
	default:
		t.impressions++
		t.paidImps += paid
		t.spentImps.Add(&t.spentImps, amount)
	}
}

// adjustment is the last line of a request.
type adjustment struct {
	millis     int64
	wallet     [16]byte
	withdrawal bool
}

// isPartOf reports whether the next line of the same request belongs to the same withdrawal, which takes from several
// wallets, each with a line.
func (a *adjustment) isPartOf(l *line) bool {
	return a.withdrawal && l.amount < 0 && l.millis == a.millis && l.wallet != a.wallet
}

// followAdjustment checks a deposit or a correction. The same request within a day must be one adjustment.
func (b *groupCheck) followAdjustment(place string, l *line) {
	w := b.wallets[l.wallet]
	if w == nil {
		b.problem(place, "adjusts wallet %s, which does not exist", uuid(l.wallet))
		return
	}
	if l.price != l.amount {
		b.problem(place, "adjusts by %d instead of %d", l.amount, l.price)
	}
	if before, again := b.requests[l.key]; again && l.millis-before.millis < dayMillis && !before.isPartOf(l) {
		b.problem(place, "DOUBLE ADJUSTMENT: request %s was applied %d ms before", uuid(l.key), l.millis-before.millis)
	}
	b.addRequest(l)
	amount := big.NewInt(l.amount)
	w.deposited.Add(w.deposited, amount)
	w.balance.Add(w.balance, amount)
}

// requestsMax is the number of requests from which those older than a day are deleted.
const requestsMax = 1 << 20

func (b *groupCheck) addRequest(l *line) {
	if len(b.requests) >= requestsMax {
		for key, before := range b.requests {
			if l.millis-before.millis >= dayMillis {
				delete(b.requests, key)
			}
		}
	}
	b.requests[l.key] = adjustment{l.millis, l.wallet, l.amount < 0}
}

// followBudget checks a line that says which budget is in force from there on. The amount spent stays, is 0 in a later
// period, or is the total: anything else would create or destroy money.
func (b *groupCheck) followBudget(place string, l *line) {
	c := b.campaigns[l.campaign]
	if c == nil || !c.hasRecord || l.key != c.id {
		b.problem(place, "sets the budget of campaign %d, %s, which does not exist", l.campaign, uuid(l.key))
		return
	}
	spent := big.NewInt(l.amount)
	continued := c.budgetKnown && spent.Cmp(c.period) == 0
	newPeriod := c.budgetKnown && l.amount == 0 && l.bid > c.number
	total := spent.Cmp(c.total) == 0
	first := !c.budgetKnown && spent.Sign() >= 0 && spent.Cmp(c.total) <= 0
	if !continued && !newPeriod && !total && !first || l.price < 0 {
		b.problem(place, "a budget of %d in period %d with %d spent does not follow from %s spent in period %d and %s in total",
			l.price, l.bid, l.amount, c.period, c.number, c.total)
	}
	if w := b.wallets[l.wallet]; w == nil || w.vendor != c.vendor || w.marketplace != c.marketplace {
		b.problem(place, "names %[2]s as payer of campaign %[1]s, which is not a wallet of its vendor", uuid(c.id), uuid(l.wallet))
	}
	if !c.budgetKnown || newPeriod && c.period.Sign() != 0 {
		c.firstLine = l.seq
	}
	c.before = carriedBudget{new(big.Int).Set(c.budget), new(big.Int).Set(c.period), c.number, c.carry}
	c.budgetLine, c.carry = l.seq, carry{}
	c.budgetKnown, c.number, c.payer = true, l.bid, l.wallet
	c.budget.SetInt64(l.price)
	c.period.SetInt64(l.amount)
}
