package fsck

import (
	"encoding/binary"
	"fmt"
	"math/big"
)

// reversal is the record of a reversal, and what its lines in the journal say.
type reversal struct {
	marketplace      uint16
	campaign, wallet [16]byte
	line             uint64 // Of the charge; 0 for an amount of no single charge.
	charged          int64
	amount, ofPeriod int64
	first, lines     uint64

	found summary
}

// summary sums the lines of a reversal.
type summary struct {
	first, lines     uint64
	amount, ofPeriod int64
}

// reversedLine is what the journal gives back of the charge of a line.
type reversedLine struct {
	amount int64
	stored int64 // What the record of the line says.
	known  bool  // The line was found, and is a charge.
	by     line  // A line that reverses it.
	of     *reversal
}

func readReversal(b []byte) (x reversal, ok bool) {
	r := reader{rest: b}
	x.marketplace, x.campaign = r.u16(), r.id()
	x.line, x.charged = r.u64(), r.i64()
	x.wallet, x.amount, x.ofPeriod = r.id(), r.i64(), r.i64()
	r.i64() // When.
	r.u8()  // The reason.
	x.first, x.lines = r.u64(), r.u64()
	r.text() // The author.
	r.text() // The note.
	return x, r.ended()
}

// addReversal reads a record of the reversals: of a reversal, or of a line that was reversed.
func (b *groupCheck) addReversal(key, value []byte) {
	switch {
	case len(key) == 18 && key[1] == 0:
		x, ok := readReversal(value)
		if !ok {
			b.problem("reversal "+uuid([16]byte(key[2:])), "its record cannot be decoded")
		}
		b.reversals[[16]byte(key[2:])] = &x
	case len(key) == 10 && key[1] == 1:
		r := reader{rest: value}
		b.reversedLine(binary.BigEndian.Uint64(key[2:])).stored = int64(r.uvarint()) // Written from an int64.
	default:
		b.problem(fmt.Sprintf("key %x", key), "is malformed")
	}
}

func (b *groupCheck) reversedLine(seq uint64) *reversedLine {
	x := b.reversed[seq]
	if x == nil {
		x = &reversedLine{}
		b.reversed[seq] = x
	}
	return x
}

// followReversal checks a line that gives a charge back: it has a record, is at most what was charged, and lets the budget
// spend again only what its current period has spent.
func (b *groupCheck) followReversal(place string, l *line) {
	c, w, r := b.campaigns[l.campaign], b.wallets[l.wallet], b.reversals[l.key]
	if c == nil || !c.hasRecord || w == nil || r == nil || r.campaign != c.id || r.wallet != l.wallet {
		b.problem(place, "REVERSAL WITHOUT RECORD: %s is no reversal of campaign %d and wallet %s", uuid(l.key), l.campaign, uuid(l.wallet))
		return
	}
	amount, ofPeriod := big.NewInt(l.amount), big.NewInt(l.price)
	if l.amount <= 0 || amount.Cmp(c.total) > 0 || amount.Cmp(w.spent) > 0 {
		b.problem(place, "gives back %d, of campaign %s %s were charged, and of the wallet %s", l.amount, uuid(c.id), c.total, w.spent)
	}
	if least, most := c.mayGiveBack(r, amount); c.budgetKnown && (ofPeriod.Cmp(least) < 0 || ofPeriod.Cmp(most) > 0) {
		b.problem(place, "lets the budget of campaign %s spend %d again, it may be %s to %s", uuid(c.id), l.price, least, most)
	}
	c.total.Sub(c.total, amount)
	c.period.Sub(c.period, ofPeriod)
	w.spent.Sub(w.spent, amount)
	w.balance.Add(w.balance, amount)
	b.tally(c.id, l.bid).reverse(l, amount)
	if r.found.lines == 0 {
		r.found.first = l.seq
	}
	r.found.lines++
	r.found.amount += l.amount
	r.found.ofPeriod += l.price
	if r.line != 0 {
		x := b.reversedLine(r.line)
		x.amount += l.amount
		x.by, x.of = *l, r
	}
}

// mayGiveBack returns how much of a reversed amount the budget may spend again in its current period: at least what the
// periods before cannot have spent, and all of it when the charge is of the current period.
func (c *campaign) mayGiveBack(r *reversal, amount *big.Int) (least, most *big.Int) {
	earlier := new(big.Int).Sub(c.total, c.period)
	least = new(big.Int).Sub(amount, earlier)
	if least.Sign() < 0 {
		least.SetInt64(0)
	}
	most = least
	if r.line != 0 && r.line >= c.firstLine {
		if most = amount; amount.Cmp(c.period) > 0 {
			most = c.period
		}
	}
	return least, most
}

func (t *tally) reverse(l *line, amount *big.Int) {
	switch l.kind {
	case lineClickReversal:
		t.spentClicks.Sub(&t.spentClicks, amount)
	case linePurchaseReversal:
		t.spentPurchases.Sub(&t.spentPurchases, amount)
	default:
		t.spentImps.Sub(&t.spentImps, amount)
	}
}

// checkReversed compares a charge with the lines that reverse it.
func (b *groupCheck) checkReversed(charge *line) {
	x := b.reversed[charge.seq]
	if x == nil || x.of == nil {
		return
	}
	x.known = true
	place := fmt.Sprintf("line %d", x.by.seq)
	if charge.seq >= x.by.seq || charge.campaign != x.by.campaign || charge.bid != x.by.bid || charge.wallet != x.by.wallet ||
		charge.kind != reverses(x.by.kind) || charge.amount != x.of.charged {
		b.problem(place, "reverses line %d, which is another charge", charge.seq)
	}
	if x.amount > charge.amount {
		b.problem(place, "DOUBLE REVERSAL: of the %d that line %d charged, %d are given back", charge.amount, charge.seq, x.amount)
	}
}

// reverses returns the kind of lines that a kind of reversal is about.
func reverses(kind uint8) uint8 {
	switch kind {
	case lineClickReversal:
		return lineClick
	case linePurchaseReversal:
		return linePurchase
	default:
		return lineImpression
	}
}

// compareReversals compares the records of reversals with their lines.
func (b *groupCheck) compareReversals() {
	for id, r := range b.reversals {
		if want := (summary{r.first, r.lines, r.amount, r.ofPeriod}); r.found != want {
			b.problem("reversal "+uuid(id), "its lines in the journal are %+v, its record says %+v", r.found, want)
		}
		b.g.Reversals++
	}
	for seq, x := range b.reversed {
		place := fmt.Sprintf("line %d", seq)
		if x.amount != x.stored {
			b.problem(place, "of it %d are reversed, its record says %d", x.amount, x.stored)
		}
		if x.of != nil && !x.known {
			b.problem(place, "is reversed, and is no charge")
		}
	}
}
