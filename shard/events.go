package shard

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// applyEvents counts and charges the records of one command in order.
func (m *Machine) applyEvents(c *command.Command) []byte {
	if err := command.ReadEvents(c, &m.events); err != nil || !m.data() || !m.itemsFit(&m.events) {
		return answer(refused(command.Invalid, 0))
	}
	if m.closed(m.events.Marketplace) {
		return answer(refused(command.MarketplaceClosed, 0))
	}
	m.results = m.results[:0]
	rules := m.tenant(m.events.Marketplace).clickRules
	for i := range m.events.Records {
		m.results = append(m.results, m.applyEvent(m.events.Marketplace, rules, &m.events.Records[i]))
	}
	return command.AppendEventResults(make([]byte, 0, 8+4*len(m.results)), m.results)
}

// itemsFit reports whether the product ids of all events are short enough to become part of keys (textMax), and whether
// at least one piece of every item was bought or returned.
func (m *Machine) itemsFit(e *command.Events) bool {
	for i := range e.Records {
		if len(e.Records[i].Product) > textMax {
			return false
		}
		for j := range e.Records[i].Items {
			item := &e.Records[i].Items[j]
			if len(item.ProductID) > textMax || item.Quantity < 1 && m.state.level >= command.LevelReturns {
				return false
			}
		}
	}
	return true
}

// applyEvent decides whether an event is too old, a duplicate or new, and charges, counts and keeps a new one. rules is nil
// when the marketplace has none.
func (m *Machine) applyEvent(marketplace uint16, rules *model.ClickRules, r *command.EventRecord) command.EventResult {
	if r.OccurredMillis < m.state.now-event.CountMillis || r.Bucket < event.CountHorizon(m.state.now) {
		return command.EventResult{Outcome: command.TooOld}
	}
	if m.reportedAtAnotherTime(r) {
		return command.EventResult{Outcome: command.Duplicate}
	}
	k := m.dedup.bucket(bucketID{classEvent, r.Bucket}, m.state.now)
	if !m.claim(k, &r.Key) {
		return command.EventResult{Outcome: command.Duplicate}
	}
	result := m.applyNew(marketplace, rules, k, r)
	m.storeEvent(marketplace, r, &result)
	return result
}

// applyNew charges and counts an event whose id was claimed in its bucket.
func (m *Machine) applyNew(marketplace uint16, rules *model.ClickRules, k *bucket, r *command.EventRecord) command.EventResult {
	c := m.campaignOfToken(marketplace, r)
	if rules != nil {
		if why, caught := m.catchClick(rules, c, r); caught {
			m.countInvalid(c, r, why)
			m.remember(k, &r.Key, command.InvalidTraffic, 0)
			m.rememberReport(r)
			return command.EventResult{Outcome: command.InvalidTraffic}
		}
	}
	result := m.charge(c, r)
	m.remember(k, &r.Key, result.Outcome, uint64(result.Charged)) // Not negative.
	m.rememberReport(r)
	if r.ReturnOf != [16]byte{} {
		m.takeBack(marketplace, r)
		return result
	}
	m.count(marketplace, c, r, &result)
	if c != nil && r.Kind <= event.Click {
		m.countParticipant(marketplace, r.UserHash, r.OccurredMillis, participantOf(r, result.Charged))
	}
	if m.state.level >= command.LevelAttribution {
		m.attribute(marketplace, c, r)
	}
	if c != nil && r.Rank > 0 && result.Outcome != command.AlreadyCharged {
		m.teach(c, r)
	}
	if c != nil && len(c.Caps) > 0 && r.UserHash != 0 {
		m.recordExposure(c, r)
	}
	return result
}

// recordExposure reports to the auctions an impression or click of a campaign with frequency caps, in the marketplace's
// current periods. The counts are kept only in the memory of each node: a lost count does little harm, while a counter
// for every user would make the replicated state large. Conversions are counted when they are credited
// (recordConversion).
func (m *Machine) recordExposure(c *campaign, r *command.EventRecord) {
	p := &m.tenant(c.Marketplace).periods
	x := market.Exposure{User: r.UserHash, Bid: r.Bid, Day: p.Day, Week: p.Week, Month: p.Month}
	switch r.Kind {
	case event.Impression:
		x.Interaction = model.CapImpressions
	case event.Click:
		x.Interaction = model.CapClicks
	default:
		return
	}
	m.feed.RecordExposure(&c.Campaign, &x)
}

// campaignOfToken returns the campaign that the event's token names, or nil.
func (m *Machine) campaignOfToken(marketplace uint16, r *command.EventRecord) *campaign {
	if r.Campaign == 0 || uint64(r.Campaign) > uint64(len(m.campaigns)) {
		return nil
	}
	c := m.campaigns[r.Campaign-1]
	if c.Marketplace != marketplace {
		return nil
	}
	return c
}

// charge charges a new event if it is the interaction that its token pays for, and records the decision. The first
// committed report decides for the token, also when budget or wallet had nothing left.
func (m *Machine) charge(c *campaign, r *command.EventRecord) command.EventResult {
	if r.Campaign != 0 && (c == nil || c.Status == model.Terminated) {
		return command.EventResult{Outcome: command.UnknownBid}
	}
	if c == nil || !isChargeable(r) {
		return command.EventResult{Outcome: command.Counted}
	}
	if r.Bucket < event.ChargeHorizon(r.Kind, m.state.now) {
		return command.EventResult{Outcome: command.TooLate}
	}
	k := m.dedup.bucket(bucketID{chargeClass(r.Kind), r.Bucket}, m.state.now)
	if !m.claim(k, &r.ChargeKey) {
		return command.EventResult{Outcome: command.AlreadyCharged}
	}

	l := ledger.Line{Kind: lineKind(r.Kind), Bid: r.Bid, Key: r.ChargeKey, Price: r.Price}
	return m.debit(c, k, l, countedIn{cell: r.Cell})
}

// debit decides a charge whose key was new in its bucket: it debits the price of the line, or what is left of it, and
// records the decision. The line lacks campaign, wallet and amount. in says which counters the caller adds it to.
func (m *Machine) debit(c *campaign, k *bucket, l ledger.Line, in countedIn) command.EventResult {
	before := c.wallet.Balance
	charged := ledger.Charge(&c.budget, &c.wallet.Wallet, m.tenant(c.Marketplace).postPaid, l.Price)
	result := command.EventResult{Outcome: outcomeOf(charged, l.Price), Charged: charged, Clipped: l.Price - charged}
	m.rememberCharge(k, &l.Key, &result, in)
	l.Campaign, l.Wallet, l.Amount = c.Ordinal, c.Wallet, charged
	m.journal(l)
	if l.Kind == ledger.ClickCharge {
		m.returnSpend(c, charged)
	}
	if charged > 0 {
		m.markDirty(c)
		m.markWalletDirty(c.wallet)
		m.recordEmptied(c.wallet, before)
		m.publishBalances(c)
	}
	return result
}

// attribute stores what attribution and dynamic segments need of a counted event: the touch of a campaign, or the
// purchase to be credited.
func (m *Machine) attribute(marketplace uint16, c *campaign, r *command.EventRecord) {
	switch {
	case r.Kind == event.Purchase:
		m.openCredit(marketplace, r)
		m.rememberPurchase(marketplace, c, r)
		m.rememberBought(marketplace, r)
	case c != nil:
		m.rememberTouch(c, r)
	}
}

// isChargeable reports whether the event is the interaction that its token pays for. A CPA token is paid by an
// attributed purchase (chargePurchase), never by an event itself.
func isChargeable(r *command.EventRecord) bool {
	if r.Price == 0 || ids.UUID(r.ChargeKey).IsZero() {
		return false
	}
	return r.Kind == event.Click && r.Charge == model.CPC || r.Kind == event.Impression && r.Charge == model.CPM
}

func outcomeOf(charged, price money.Micros) command.Outcome {
	switch charged {
	case price:
		return command.Charged
	case 0:
		return command.NothingLeft
	default:
		return command.Clipped
	}
}

func lineKind(k event.Kind) ledger.LineKind {
	if k == event.Click {
		return ledger.ClickCharge
	}
	return ledger.ImpressionCharge
}

// journal appends a line and sets its number, time and hash chain.
func (m *Machine) journal(l ledger.Line) {
	m.state.lastLine++
	l.Seq, l.Millis = m.state.lastLine, m.state.now
	m.key = keyLine(m.key[:0], l.Seq)
	m.value = ledger.AppendLine(m.value[:0], m.state.chain, &l)
	m.state.chain = l.Chain
	m.add(m.key, m.value)
}

// count adds a new event to the counters of its campaign, which the token or an external id names, or else to the
// marketplace's counters of events without a campaign. A purchase is also added to the counters of its products.
func (m *Machine) count(marketplace uint16, c *campaign, r *command.EventRecord, result *command.EventResult) {
	var key []byte
	switch {
	case c != nil:
		key = keyCampaignCell(m.key[:0], c.ID, r.Cell, r.Bid)
	case !r.ExternalCampaign.IsZero():
		key = keyCampaignCell(m.key[:0], r.ExternalCampaign, r.Cell, 0)
	default:
		key = keyNoCampaignCell(m.key[:0], marketplace, r.Cell)
	}
	m.key = key
	counters := m.cell(key)
	countEvent(counters, r, result.Charged)
	over := m.overdeliver(c, result.Clipped)
	counters.Overdelivery += over
	if places := m.placeOf(key, r.Place); places != nil && r.Kind <= event.Click {
		countEvent(places, r, result.Charged)
		places.Overdelivery += over
	}
	for i := range r.Items {
		item := &r.Items[i]
		product := m.reportedProduct(marketplace, r, item)
		m.key = keyProductCell(m.key[:0], marketplace, product, r.Cell)
		counters := m.cell(m.key)
		counters.Purchases++
		counters.Purchase(item.Quantity, item.UnitPrice)
	}
}

// overdeliver counts what an interaction of a campaign could not be charged for, in the campaign's budget period, and
// returns what was counted, for the reports.
func (m *Machine) overdeliver(c *campaign, clipped money.Micros) (counted money.Micros) {
	if clipped == 0 || m.state.level < command.LevelPacing {
		return 0
	}
	m.markDirty(c)
	counted = c.budget.Overdeliver(clipped)
	m.addOverdelivered(counted)
	return counted
}

// countSale adds a credited item.
func countSale(counters *rollup.Counters, x *command.Credit, charged money.Micros) {
	counters.Attributed.Add(x.Quantity, x.UnitPrice)
	if x.Halo {
		counters.Halo.Add(x.Quantity, x.UnitPrice)
	}
	if x.Kind == event.Impression {
		counters.Viewed.Add(x.Quantity, x.UnitPrice)
	}
	if charged > 0 {
		counters.ChargedPurchases++
		counters.SpentPurchases += charged
	}
}

func countEvent(counters *rollup.Counters, r *command.EventRecord, charged money.Micros) {
	var paid int64
	if charged > 0 {
		paid = 1
	}
	switch r.Kind {
	case event.Impression:
		counters.Impressions++
		counters.ChargedImpressions += paid
		counters.SpentImpressions += charged
	case event.Click:
		counters.Clicks++
		counters.ChargedClicks += paid
		counters.SpentClicks += charged
	case event.Purchase:
		counters.Purchases++
		for i := range r.Items {
			counters.Purchase(r.Items[i].Quantity, r.Items[i].UnitPrice)
		}
	case event.Pageview:
		counters.Pageviews++
	}
}
