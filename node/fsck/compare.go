package fsck

import (
	"encoding/binary"
	"fmt"
	"math/big"
)

// compareHeads compares the digest, the end of the journal and the counters of the group.
func (b *groupCheck) compareHeads(a applied) {
	g := b.g
	g.Digest, g.Clock, g.Level = fmt.Sprintf("%016x", b.digest), b.head.clock, b.head.level
	switch {
	case b.header == nil && g.Records > 0:
		b.problem("header", "is missing")
	case b.header != nil && (len(b.header) != 9 || b.header[0] != 1):
		b.problem("header", "is of an unknown format: %x", b.header)
	case b.header != nil && binary.LittleEndian.Uint64(b.header[1:]) != b.digest:
		b.problem("digest", "the records have %016x, the state says %016x: a record was lost, changed or added",
			b.digest, binary.LittleEndian.Uint64(b.header[1:]))
	}
	if a.index > 0 && a.digest != b.digest {
		b.problem("digest", "the records have %016x, entry %d had %016x", b.digest, a.index, a.digest)
	}
	if !b.hasHead {
		if g.Records > 0 {
			b.problem("state record", "is missing")
		}
		return
	}
	if b.head.lastLine != b.seq || b.head.chain != b.chain {
		b.problem("journal", "ends at line %d with chain %x, the state says line %d with chain %x", b.seq, b.chain, b.head.lastLine, b.head.chain)
	}
	if b.millis > b.head.clock {
		b.problem("journal", "its last line has the time %d, the state clock says %d", b.millis, b.head.clock)
	}
}

// comparePlaces checks that no campaign has more at all its places than in all. It has less when something was counted before the
// feature level from which places are.
func (b *groupCheck) comparePlaces() {
	for id, at := range b.places {
		all := sumOf(b.cells, id)
		if at.Impressions > all.Impressions || at.ChargedImpressions > all.ChargedImpressions || at.Clicks > all.Clicks ||
			at.ChargedClicks > all.ChargedClicks || at.ChargedPurchases > all.ChargedPurchases ||
			at.SpentImpressions > all.SpentImpressions || at.SpentClicks > all.SpentClicks || at.SpentPurchases > all.SpentPurchases {
			b.problem("campaign "+uuid(id), "counts %+v at its places, and %+v in all", *at, *all)
		}
	}
}

// compareCampaigns compares what the lines of a campaign say with its stored budget.
func (b *groupCheck) compareCampaigns() {
	if n := uint32(len(b.campaigns)); b.hasHead && n != b.head.lastCampaign { // Ordinals have 32 bits.
		b.problem("campaigns", "there are %d, the state says %d", n, b.head.lastCampaign)
	}
	for ordinal, c := range b.campaigns {
		if !c.hasRecord || !c.hasBudget {
			b.problem(fmt.Sprintf("campaign %d", ordinal), "has no record or no budget")
			continue
		}
		if ordinal == 0 || ordinal > b.head.lastCampaign {
			b.problem(c.place(), "its number %d is above %d", ordinal, b.head.lastCampaign)
		}
		b.compareBudget(c)
		b.g.Campaigns++
		counts := Counts{}
		if found := b.cells[c.id]; found != nil {
			counts = *found
		}
		b.r.Campaigns = append(b.r.Campaigns, Campaign{
			ID: uuid(c.id), Group: b.g.Group, Marketplace: c.marketplace, Vendor: c.vendor, Counts: counts,
			Budget: c.stored.amount, SpentPeriod: c.stored.spent, Spent: c.total.Int64(),
		})
	}
}

func (b *groupCheck) compareBudget(c *campaign) {
	s := &c.stored
	if !equal(s.total, c.total) {
		b.problem(c.place(), "spent %d, its lines say %s", s.total, c.total)
	}
	if s.amount != c.budget64() {
		b.problem(c.place(), "its budget is %d, its record says %d", s.amount, c.budget64())
	}
	if s.spent < 0 || s.spent > s.total {
		b.problem(c.place(), "spent %d in this period and %d in total", s.spent, s.total)
	}
	if !c.budgetKnown {
		return
	}
	if c.payer != c.wallet {
		b.problem(c.place(), "is paid by wallet %s, the journal says %s", uuid(c.wallet), uuid(c.payer))
	}
	if !equal(s.amount, c.budget) {
		b.problem(c.place(), "its budget is %d, the journal says %s", s.amount, c.budget)
	}
	if s.carried != c.carry.onTop {
		b.problem(c.place(), "carries over %d, the journal says %d", s.carried, c.carry.onTop)
	}
	if !equal(s.spent, c.period) {
		b.problem(c.place(), "spent %d in this period, its lines say %s", s.spent, c.period)
	}
}

func (c *campaign) budget64() int64 { return c.storedCampaign.budget }

func equal(stored int64, counted *big.Int) bool {
	return counted.IsInt64() && counted.Int64() == stored
}

// compareWallets compares the stored balances with the lines: balance = deposits + transfers - charges.
func (b *groupCheck) compareWallets() {
	charged, deposited := new(big.Int), new(big.Int)
	for id, w := range b.wallets {
		place := "wallet " + uuid(id)
		if !equal(w.storedWallet.deposited, w.deposited) {
			b.problem(place, "deposited %d, its lines say %s", w.storedWallet.deposited, w.deposited)
		}
		if !equal(w.storedWallet.spent, w.spent) {
			b.problem(place, "spent %d, its lines say %s", w.storedWallet.spent, w.spent)
		}
		if !equal(w.storedWallet.transferred, w.transferred) {
			b.problem(place, "received %d by transfers, its lines say %s", w.storedWallet.transferred, w.transferred)
		}
		if w.vendor == "" && (w.balance.Sign() < 0 || w.deposited.Sign() != 0 || w.spent.Sign() != 0) {
			b.problem(place, "is a ledger account and holds %s, %s deposited, %s spent", w.balance, w.deposited, w.spent)
		}
		if !equal(w.storedWallet.balance, w.balance) {
			b.problem(place, "holds %d, its lines say %s", w.storedWallet.balance, w.balance)
		}
		charged.Add(charged, w.spent)
		deposited.Add(deposited, w.deposited)
		b.g.Wallets++
		b.r.Wallets = append(b.r.Wallets, Wallet{
			ID: uuid(id), Group: b.g.Group, Marketplace: w.marketplace, Vendor: w.vendor, Name: w.name, Deposited: w.deposited.Int64(),
			Transferred: w.transferred.Int64(), Spent: w.spent.Int64(), Balance: w.balance.Int64(),
		})
	}
	b.g.Charged, b.g.Deposited = charged.Int64(), deposited.Int64()
}

// compareCells compares the charges in the reports with the lines, bid by bid. Events without a charge have no line, so
// the lines only give a lower bound of the totals.
func (b *groupCheck) compareCells() {
	for id, t := range b.bids {
		place := fmt.Sprintf("reports of campaign %s, bid %d", uuid(id.campaign), id.ordinal)
		c := &t.cells
		if c.ChargedClicks != t.paidClicks || c.ChargedImpressions != t.paidImps {
			b.problem(place, "%d clicks and %d impressions charged, the lines say %d and %d",
				c.ChargedClicks, c.ChargedImpressions, t.paidClicks, t.paidImps)
		}
		if !equal(c.SpentClicks, &t.spentClicks) || !equal(c.SpentImpressions, &t.spentImps) {
			b.problem(place, "%d spent on clicks and %d on impressions, the lines say %s and %s",
				c.SpentClicks, c.SpentImpressions, &t.spentClicks, &t.spentImps)
		}
		if c.ChargedPurchases != t.paidPurchases || !equal(c.SpentPurchases, &t.spentPurchases) {
			b.problem(place, "%d purchases charged %d, the lines say %d and %s", c.ChargedPurchases, c.SpentPurchases, t.paidPurchases, &t.spentPurchases)
		}
		if c.Clicks < t.clicks || c.Impressions < t.impressions {
			b.problem(place, "%d clicks and %d impressions, but %d and %d were decided", c.Clicks, c.Impressions, t.clicks, t.impressions)
		}
	}
}

// compareBuckets compares the dedup keys of every hour, and the touches and credited items of every day, with the stored count and
// hash of the hour or day. A missing key is not
// found in any other way, and its event would count again.
func (b *groupCheck) compareBuckets() {
	for id, k := range b.buckets {
		if k.stored != k.found || k.storedXor != k.foundXor {
			b.problem(fmt.Sprintf("dedup keys of class %d, hour %d", id.class, id.hour), "%d with hash %016x, the hour says %d with %016x",
				k.found, k.foundXor, k.stored, k.storedXor)
		}
	}
	for id, k := range b.days {
		if k.stored != k.found || k.storedXor != k.foundXor {
			b.problem(fmt.Sprintf("records of table %#02x, day %d", id.table, id.day), "%d with hash %016x, the day says %d with %016x",
				k.found, k.foundXor, k.stored, k.storedXor)
		}
	}
}
