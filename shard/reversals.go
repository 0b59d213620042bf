package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// countedIn says in which counters of its campaign a charge is counted.
type countedIn struct {
	cell    uint32
	product string // The product that was sold, of a purchase; empty otherwise.
}

// rememberCharge stores the decision about a charge. From LevelReturns on it also says what a reversal needs: the journal
// line, which the caller writes next, and where the charge is counted.
func (m *Machine) rememberCharge(k *bucket, key *[16]byte, r *command.EventResult, in countedIn) {
	if m.state.level < command.LevelReturns {
		m.remember(k, key, r.Outcome, uint64(r.Charged)) // Not negative.
		return
	}
	m.key = append(keyDedup(m.key[:0], k.id), key[:]...)
	m.value = binary.AppendUvarint(append(m.value[:0], byte(r.Outcome)), uint64(r.Charged)) // Not negative.
	m.value = binary.AppendUvarint(m.value, m.state.lastLine+1)
	m.value = binary.AppendUvarint(m.value, uint64(in.cell))
	m.value = append(m.value, in.product...)
	m.addKey(k)
}

// Reversal is a stored reversal. It is kept for ever, so that its id is never used twice.
type Reversal struct {
	ID          ids.UUID
	Marketplace uint16
	Campaign    ids.UUID
	Line        uint64 // The journal line of the charge that was reversed; 0 for an amount of no single charge.
	Charged     money.Micros
	Wallet      ids.UUID
	Amount      money.Micros // What was given back. INVARIANT: its lines in the journal sum to it.
	OfPeriod    money.Micros // The part of it that the budget may spend again.
	Millis      int64
	Reason      command.Reason
	Author      string
	Note        string
	FirstLine   uint64 // The number of its first line in the journal; the others follow it.
	Lines       uint64
}

// reverse gives back what a campaign was charged: to the wallet, and to the budget as far as its current period was
// charged. The counters of the reports follow.
//
// INVARIANT: no charge is given back more than once: what was reversed of a line is stored under the line, and of all
// charges of a campaign, bid and cell together never more is given back than the counters have.
func (m *Machine) reverse(x *command.Reverse) command.Result {
	if stored, found := m.get(keyReversal(nil, x.ID)); found {
		return m.repeatReversal(x, must(readReversal(x.ID, stored)))
	}
	c := m.campaignOf(x.Marketplace, x.Campaign)
	if c == nil {
		return refused(command.NotFound, 0)
	}
	w := c.wallet
	if x.Line != 0 {
		w = m.accountOf(x.Marketplace, x.Wallet)
	}
	if w == nil || w.VendorID != c.VendorID || x.Line > m.state.lastLine {
		return refused(command.Invalid, 0)
	}
	amount, _ := x.Amount() // Checked when the command was read.
	reversed := m.reversedOf(x.Line)
	switch {
	case x.Line != 0 && amount > x.Charged-reversed, amount > c.budget.SpentTotal, amount > w.Spent:
		return refused(command.ExceedsCharge, 0)
	case !m.areCounted(c, x.Parts):
		return refused(command.Conflict, 0)
	}
	if _, ok := money.Add(w.Balance, amount); !ok {
		return refused(command.TooMany, 0)
	}
	m.carryOutReversal(c, w, x, amount)
	if x.Line != 0 {
		m.put(keyReversedLine(nil, x.Line), binary.AppendUvarint(nil, uint64(reversed+amount))) // Not negative.
	}
	return command.Result{Balance: w.Balance}
}

// repeatReversal answers a reversal whose id is known.
func (m *Machine) repeatReversal(x *command.Reverse, r Reversal) command.Result {
	if amount, _ := x.Amount(); r.Marketplace != x.Marketplace || r.Campaign != x.Campaign || r.Line != x.Line || r.Amount != amount {
		return refused(command.AlreadyExists, 0)
	}
	m.repeated = true
	return command.Result{Balance: m.wallets[r.Wallet].Balance}
}

// areCounted reports whether the counters have what all parts together are to take from them. Parts that name different
// counters of their own may share one: several products of a bid, and several bids on a product.
func (m *Machine) areCounted(c *campaign, parts []command.ReversalPart) bool {
	for i := range parts {
		p := &parts[i]
		if len(p.Product) > textMax {
			return false
		}
		ofBid, ofProduct := takenSoFar(parts[:i+1])
		m.key = keyCampaignCell(m.key[:0], c.ID, p.Cell, p.Bid)
		if *spentOn(m.countersAt(m.key), p.Kind) < ofBid {
			return false
		}
		if p.Kind == event.Purchase {
			m.key = keySoldCell(m.key[:0], c.ID, p.Cell, p.Product)
			if m.countersAt(m.key).SpentPurchases < ofProduct {
				return false
			}
		}
	}
	return true
}

// takenSoFar returns what the last of some parts and those before it take of its cell and kind: from the counters of its
// bid, and from those of its product. The parts are sorted by cell, and their sum is an amount.
func takenSoFar(parts []command.ReversalPart) (ofBid, ofProduct money.Micros) {
	p := &parts[len(parts)-1]
	for j := len(parts) - 1; j >= 0 && parts[j].Cell == p.Cell; j-- {
		o := &parts[j]
		if o.Kind == p.Kind && o.Bid == p.Bid {
			ofBid += o.Amount
		}
		if o.Kind == p.Kind && o.Product == p.Product {
			ofProduct += o.Amount
		}
	}
	return ofBid, ofProduct
}

// spentOn returns the counter of what was charged for a kind of interaction.
func spentOn(c *rollup.Counters, k event.Kind) *money.Micros {
	switch k {
	case event.Click:
		return &c.SpentClicks
	case event.Purchase:
		return &c.SpentPurchases
	default:
		return &c.SpentImpressions
	}
}

// carryOutReversal gives each part back with a line in the journal, and stores the reversal. REQUIRES: all was checked.
func (m *Machine) carryOutReversal(c *campaign, w *wallet, x *command.Reverse, amount money.Micros) {
	r := Reversal{
		ID: x.ID, Marketplace: x.Marketplace, Campaign: x.Campaign, Line: x.Line, Charged: x.Charged, Wallet: w.ID, Amount: amount,
		Millis: m.state.now, Reason: x.Reason, Author: x.Author, Note: x.Note, FirstLine: m.state.lastLine + 1, Lines: uint64(len(x.Parts)),
	}
	inPeriod := isOfPeriod(c, x.Line)
	for i := range x.Parts {
		p := &x.Parts[i]
		ofPeriod, _ := ledger.Reverse(&c.budget, &w.Wallet, p.Amount, inPeriod)
		r.OfPeriod += ofPeriod
		m.journal(ledger.Line{
			Kind: reversalKind(p.Kind), Campaign: c.Ordinal, Bid: p.Bid, Key: x.ID, Wallet: w.ID, Price: ofPeriod, Amount: p.Amount,
		})
		m.addEntry(w, ids.UUID{}, x.Note)
		m.key = keyCampaignCell(m.key[:0], c.ID, p.Cell, p.Bid)
		*spentOn(m.cell(m.key), p.Kind) -= p.Amount
		if places := m.placeOf(m.key, 0); places != nil { // A journal line does not name the place of its interaction.
			*spentOn(places, p.Kind) -= p.Amount
		}
		if p.Kind == event.Purchase {
			m.key = keySoldCell(m.key[:0], c.ID, p.Cell, p.Product)
			m.cell(m.key).SpentPurchases -= p.Amount
		}
	}
	m.put(keyReversal(nil, r.ID), appendReversal(nil, &r))
	m.markDirty(c)
	m.markWalletDirty(w)
	m.publishBalances(c)
}

// isOfPeriod reports whether a line of the journal is known to be of the budget's current period. A total budget has a
// single period; 0 is no line.
func isOfPeriod(c *campaign, line uint64) bool {
	return c.Period == model.Total || line != 0 && c.budget.FirstLine != 0 && line >= c.budget.FirstLine
}

func reversalKind(k event.Kind) ledger.LineKind {
	switch k {
	case event.Click:
		return ledger.ClickReversal
	case event.Purchase:
		return ledger.PurchaseReversal
	default:
		return ledger.ImpressionReversal
	}
}

// reversedOf returns what was reversed of the charge of a line so far.
func (m *Machine) reversedOf(line uint64) money.Micros {
	stored, found := m.get(keyReversedLine(nil, line))
	if !found {
		return 0
	}
	return must(readReversed(stored))
}

func readReversed(b []byte) (money.Micros, error) {
	d := command.NewDecoder(b)
	amount := money.Micros(d.Uvarint()) // Written from a Micros.
	return amount, d.Err()
}

// appendReversal leaves the id out, because it is the key.
func appendReversal(dst []byte, r *Reversal) []byte {
	dst = append(binary.LittleEndian.AppendUint16(dst, r.Marketplace), r.Campaign[:]...)
	dst = command.AppendMoney(binary.LittleEndian.AppendUint64(dst, r.Line), r.Charged)
	dst = command.AppendMoney(append(dst, r.Wallet[:]...), r.Amount)
	dst = command.AppendMillis(command.AppendMoney(dst, r.OfPeriod), r.Millis)
	dst = binary.LittleEndian.AppendUint64(append(dst, byte(r.Reason)), r.FirstLine)
	dst = binary.LittleEndian.AppendUint64(dst, r.Lines)
	return command.AppendText(command.AppendText(dst, r.Author), r.Note)
}

func readReversal(id ids.UUID, b []byte) (Reversal, error) {
	d := command.NewDecoder(b)
	r := Reversal{
		ID: id, Marketplace: d.U16(), Campaign: d.UUID(), Line: d.U64(), Charged: d.Price(), Wallet: d.UUID(), Amount: d.Price(),
		OfPeriod: d.Price(), Millis: d.I64(), Reason: command.Reason(d.Enum(uint8(command.Reasons))), FirstLine: d.U64(), Lines: d.U64(),
		Author: d.Text(), Note: d.Text(),
	}
	return r, d.Err()
}

// loadReversal checks a record of tableReversal.
func loadReversal(key, value []byte) error {
	switch {
	case key[0] == 0 && len(key) == 17:
		_, err := readReversal(ids.UUID(key[1:]), value)
		return err
	case key[0] == 1 && len(key) == 9:
		_, err := readReversed(value)
		return err
	}
	return errKey
}

// Reversal returns a reversal of this group.
func (b Queries) Reversal(id ids.UUID) (Reversal, bool) {
	stored, found := b.R.Get(keyReversal(nil, id))
	if !found {
		return Reversal{}, false
	}
	return must(readReversal(id, stored)), true
}

// Charge is a decision about a charge, and what a reversal of it needs.
type Charge struct {
	ledger.Line
	Cell     uint32
	Product  string       // The product that was sold, of a purchase; empty otherwise.
	Reversed money.Micros // What was given back of it so far.
}

// ChargeOf returns the charge of a token for a kind of interaction. hour is the one in which the token was issued, and
// key its charge key. found is false when there is none, when it is not remembered any more (event.ChargeHorizon), and
// when it was decided before command.LevelReturns.
func (b Queries) ChargeOf(k event.Kind, hour uint32, key [16]byte) (c Charge, found bool) {
	stored, found := b.R.Get(append(keyDedup(nil, bucketID{chargeClass(k), hour}), key[:]...))
	if !found {
		return c, false
	}
	d := command.NewDecoder(stored)
	d.U8()
	d.Uvarint()
	if !d.More() {
		return c, false
	}
	seq := d.Uvarint()
	c.Cell = uint32(d.Uvarint()) // Written from 32 bits.
	c.Product = string(d.Rest())
	line, found := b.R.Get(keyLine(nil, seq))
	if d.Err() != nil || !found {
		return c, false
	}
	c.Line = must(ledger.ReadLine(seq, line))
	c.Reversed = b.reversedOf(seq)
	return c, true
}

// ChargeDecision returns the decision about the charge of a token for a kind of interaction, of which only outcome and amount are
// stored. hour and key are those of ChargeOf. found is false when there is none, and when it is not remembered any more
// (event.ChargeHorizon).
func (b Queries) ChargeDecision(k event.Kind, hour uint32, key [16]byte) (r command.EventResult, found bool) {
	stored, found := b.R.Get(append(keyDedup(nil, bucketID{chargeClass(k), hour}), key[:]...))
	if !found {
		return r, false
	}
	return readDecision(stored), true
}

func (b Queries) reversedOf(line uint64) money.Micros {
	stored, found := b.R.Get(keyReversedLine(nil, line))
	if !found {
		return 0
	}
	return must(readReversed(stored))
}
