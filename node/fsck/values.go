package fsck

import (
	"crypto/sha256"
	"encoding/binary"
)

// This file decodes the values of the state, as DESIGN.md describes them. Unknown members at the end of a value are ignored.

// head is the record of a group's counters, which nearly every command changes.
type head struct {
	clock        int64
	lastCampaign uint32
	lastBid      uint32
	lastLine     uint64
	chain        [16]byte
	level        uint16
}

func readHead(b []byte) (h head, ok bool) {
	r := reader{rest: b}
	h.clock = r.i64()
	h.lastCampaign = r.u32()
	h.lastBid = r.u32()
	r.u64() // The last version of a record.
	h.lastLine = r.u64()
	h.chain = r.id()
	h.level = r.u16()
	return h, !r.bad
}

type storedWallet struct {
	marketplace               uint16
	vendor, name              string // Without a vendor it is a ledger account.
	balance, deposited, spent int64
	transferred               int64
}

func readWallet(b []byte) (w storedWallet, ok bool) {
	r := reader{rest: b}
	w.marketplace = r.u16()
	w.vendor = r.text()
	w.name = r.text()
	r.u8() // Whether it is the default wallet.
	w.balance, w.deposited, w.spent = r.i64(), r.i64(), r.i64()
	r.i64() // Created.
	w.transferred = r.i64()
	return w, !r.bad
}

type storedBudget struct {
	amount, spent, total int64
	carried              int64
}

func readBudget(b []byte) (s storedBudget, ok bool) {
	r := reader{rest: b}
	s.amount = r.i64()
	r.u32() // The number of the period, which the lines of the journal do not contain.
	s.spent, s.total = r.i64(), r.i64()
	if len(r.rest) > 0 {
		r.i64() // Over-delivered in the period,
		r.i64() // and in total.
	}
	if len(r.rest) > 0 {
		r.u8() // The counted days of the month.
		s.carried = r.i64()
	}
	return s, !r.bad
}

type storedCampaign struct {
	id          [16]byte
	ordinal     uint32
	group       uint16
	marketplace uint16
	vendor      string
	wallet      [16]byte
	budget      int64
}

func readCampaign(b []byte) (c storedCampaign, ok bool) {
	r := reader{rest: b}
	c.id, c.ordinal, c.group, c.marketplace = r.id(), r.u32(), r.u16(), r.u16()
	c.vendor, c.wallet = r.text(), r.id()
	r.text() // Name.
	r.text() // Type.
	r.take(3)
	c.budget = r.i64()
	return c, !r.bad
}

// Counts are counters of events.
type Counts struct {
	Impressions        int64 `json:"impressions"`
	ChargedImpressions int64 `json:"chargedImpressions"`
	SpentImpressions   int64 `json:"spentImpressionsMicros"`
	Clicks             int64 `json:"clicks"`
	ChargedClicks      int64 `json:"chargedClicks"`
	SpentClicks        int64 `json:"spentClicksMicros"`
	Purchases          int64 `json:"purchases"`
	ChargedPurchases   int64 `json:"chargedPurchases"`
	SpentPurchases     int64 `json:"spentPurchasesMicros"`
}

func (c *Counts) add(o *Counts) {
	c.Impressions += o.Impressions
	c.ChargedImpressions += o.ChargedImpressions
	c.SpentImpressions += o.SpentImpressions
	c.Clicks += o.Clicks
	c.ChargedClicks += o.ChargedClicks
	c.SpentClicks += o.SpentClicks
	c.Purchases += o.Purchases
	c.ChargedPurchases += o.ChargedPurchases
	c.SpentPurchases += o.SpentPurchases
}

// readCounts reads the counters of a cell, and whether one is negative; trailing zeros are not stored.
func readCounts(b []byte) (c Counts, negative, ok bool) {
	r := reader{rest: b}
	var other int64 // Quantities, sales that charge nothing, page views and over-delivery.
	for _, f := range []*int64{
		&c.Impressions, &c.ChargedImpressions, &c.SpentImpressions, &c.Clicks, &c.ChargedClicks, &c.SpentClicks, &c.Purchases,
		&other, &other, &other, &other, &other, &other, &other, &other, &other, &other, &other, &other, &other,
		&c.ChargedPurchases, &c.SpentPurchases,
	} {
		if len(r.rest) == 0 {
			break
		}
		*f = r.varint()
		negative = negative || *f < 0
	}
	for len(r.rest) > 0 { // Invalid clicks, by reason.
		negative = r.varint() < 0 || negative
	}
	return c, negative, !r.bad
}

// Kinds of journal lines.
const (
	lineClick = iota + 1
	lineImpression
	lineAdjustment
	lineBudget
	lineMode
	lineLeg
	lineSent
	lineReceived
	lineReturned
	lineCarried
	linePurchase
	lineClickReversal
	lineImpressionReversal
	linePurchaseReversal
)

// line is one line of the journal.
type line struct {
	seq           uint64
	millis        int64
	kind          uint8
	campaign, bid uint32
	key, wallet   [16]byte
	price, amount int64
	chain         [16]byte
}

const lineBody = 8 + 1 + 4 + 4 + 16 + 16 + 8 + 8

func readLine(seq uint64, b []byte) (l line, ok bool) {
	r := reader{rest: b}
	l.seq = seq
	l.millis, l.kind, l.campaign, l.bid = r.i64(), r.u8(), r.u32(), r.u32()
	l.key, l.wallet = r.id(), r.id()
	l.price, l.amount = r.i64(), r.i64()
	l.chain = r.id()
	return l, r.ended()
}

// decides reports whether the line decides a charge.
func (l *line) decides() bool { return l.class() != 0 }

// class returns the class of the charge keys that a kind of line decides, 0 for lines that decide no charge.
func (l *line) class() uint8 {
	switch l.kind {
	case lineClick:
		return classClick
	case lineImpression:
		return classImpression
	case linePurchase:
		return classPurchase
	default:
		return 0
	}
}

// nextChain returns the chain value after a line: SHA-256 over the chain value before it, its number and its stored
// body, cut to 128 bits.
func nextChain(before [16]byte, seq uint64, stored []byte) [16]byte {
	b := binary.LittleEndian.AppendUint64(before[:], seq)
	sum := sha256.Sum256(append(b, stored[:lineBody]...))
	return [16]byte(sum[:16])
}
