package shardtest

import (
	"math/big"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Model is a slow and simple implementation of the machine, for comparison: nothing is ever dropped, sums are big
// integers, and reports are computed from all events. It models one group that carries everything.
type Model struct {
	Now          int64
	Level        command.Level
	Turn         uint64
	Marketplaces map[uint16]*model.Marketplace
	Periods      map[uint16]command.Periods
	Wallets      map[ids.UUID]*Wallet
	Transfers    map[ids.UUID]*Moved
	Emptied      map[Emptying]bool // The reminders that are not deleted yet.
	Campaigns    []*Campaign
	Events       []Counted
	Lines        []Line
	Records      map[Name]Record
	Categories   map[Name]model.Category
	Products     map[Name]model.Product
	Marks        map[Name]ids.UUID // Of deleted vendors.
	Notices      map[Noticed]string
	Entries      map[Name]string // Of the audit log.
	// UnknownMax is how many products outside the catalog are counted separately on a day of a marketplace.
	UnknownMax int
	// ClickAdsMax is how many ads of a marketplace have their own click rate.
	ClickAdsMax int
	// PurchaseAdsMax is how many ads of a marketplace have their own purchase rate.
	PurchaseAdsMax int
	// TouchesMax is how many clicks, and impressions, of a user and day are kept.
	TouchesMax int
	// EnrolmentsMax is how many enrolments of a day are kept.
	EnrolmentsMax int
	// ParticipantsMax is how many participants of a day are kept.
	ParticipantsMax int
	// Replaced counts the participants of an experiment that were replaced by those of the next one, on the same day.
	Replaced int
	// EventsMax is how many events of a marketplace and day are kept.
	EventsMax int
	// LinksMax is how many links from a user, and to a user, of a day are kept.
	LinksMax  int
	Purchases map[command.PurchaseName]*command.OpenCredit // Those that are to be credited.
	Credits   []Credited
	Returns   map[command.PurchaseName]int64 // Pieces that came back, of purchases whose returns are not carried out.
	Charges   []Charge
	Reversals map[ids.UUID]Reversed
	Clicks    map[market.ClickCell]Clicks
	Bought    map[market.PurchaseCell]Bought
	Delays    map[uint16]Delay
	Traffic   map[uint16][]command.Traffic // The hours that were learned.

	PaceNumber uint64 // Of the last Pace.
	Auctions   map[auctionCell]rollup.Auctions

	tallies map[applied]bool // Every CountAuctions that was applied.

	counted map[uint16]counted // The newest counted reports, by node.
	unknown map[unknownDay]map[string]bool
	touched []touched
	// touchesFrom is the first day, by marketplace, of which touches may be stored.
	touchesFrom  map[uint16]int64
	enrolled     map[enrolled]command.Enrolment
	participants map[participant]shard.Participant
	keptEvents   map[eventDay][]shard.StoredEvent
	// droppedEvents is how many days of events were dropped.
	droppedEvents int
	links         []linked // In the order in which they were made.
	validClicks   []validClick
	seen          map[seenKey]bool
	reports       []report
	adjusts       map[ids.UUID]*big.Int // Balances by request; no test makes more requests than are kept at least.
	bids          uint32

	countedWithoutPlaces bool // Something was counted below command.LevelPlaces.
}

// Wallet is a wallet of the model.
type Wallet struct {
	ID                                     ids.UUID
	Marketplace                            uint16
	Vendor                                 string
	Balance, Deposited, Spent, Transferred *big.Int
	Emptied                                uint32
	Entries                                []Entered
}

// Campaign is a campaign of the model.
type Campaign struct {
	model.Campaign
	Spent, SpentTotal *big.Int
	// Overdelivered is what could not be charged in the period, and OverdeliveredTotal the same in all periods.
	Overdelivered, OverdeliveredTotal *big.Int
	Paced                             *command.Paced // Nil: never, or not any more.
	PeriodNumber                      uint32
	Began                             int // The number of lines when the period began; -1 below LevelReturns.
	Carried                           Carried
	Bids                              []*model.Bid // Deleted bids included.
	First                             uint32
	Returned                          market.Returned
}

// Counted is one event that was counted.
type Counted struct {
	Campaign ids.UUID // Zero: none.
	Market   uint16
	command.EventRecord
	Charged      *big.Int
	Overdelivery money.Micros
	Invalid      int        // The reason (rollup.InvalidReason), or valid.
	sold         []soldItem // Of a purchase that may be returned.
	opened       int64
	buyer        uint64 // Of a purchase that is decided, from command.LevelModels on.
	rules        model.Attribution
}

// Line is one journal line.
type Line struct {
	Campaign uint32
	Key      [16]byte
	Amount   *big.Int
	// Over says that the line made the campaign's spending exceed its budget, or a prepaid wallet negative. It must never
	// be true.
	Over bool
}

// Name identifies a record, a category or a product.
type Name struct {
	Kind   command.RecordKind
	Market uint16
	ID     string
}

// Record is a record of the model. Versions are not modelled.
type Record struct {
	Class         string
	Value         string
	ExpiresMillis int64
}

type seenKey struct {
	class  string
	bucket uint32
	key    [16]byte
}

// report is a counted event: its id, its bucket, and the hour and feature level at its report.
type report struct {
	key    [16]byte
	bucket uint32
	hour   int64
	level  command.Level
}

type unknownDay struct {
	market uint16
	day    int64
}

// NewModel returns the model of an empty group.
func NewModel() *Model {
	return &Model{
		Marketplaces: make(map[uint16]*model.Marketplace), Periods: make(map[uint16]command.Periods),
		Wallets: make(map[ids.UUID]*Wallet), Transfers: make(map[ids.UUID]*Moved), Emptied: make(map[Emptying]bool), Records: make(map[Name]Record),
		Categories: make(map[Name]model.Category), Products: make(map[Name]model.Product), Marks: make(map[Name]ids.UUID),
		Notices: make(map[Noticed]string), Entries: make(map[Name]string),
		counted: make(map[uint16]counted),
		seen:    make(map[seenKey]bool), adjusts: make(map[ids.UUID]*big.Int),
		UnknownMax: shard.UnknownProductsMax, unknown: make(map[unknownDay]map[string]bool), touchesFrom: make(map[uint16]int64),
		TouchesMax: shard.TouchesMax, EnrolmentsMax: shard.EnrolmentsMax, enrolled: make(map[enrolled]command.Enrolment), ParticipantsMax: shard.ParticipantsMax, participants: make(map[participant]shard.Participant), EventsMax: shard.EventsMax, keptEvents: make(map[eventDay][]shard.StoredEvent), Purchases: make(map[command.PurchaseName]*command.OpenCredit),
		Returns: make(map[command.PurchaseName]int64), Reversals: make(map[ids.UUID]Reversed),
		ClickAdsMax: shard.ClickAdsMax, Clicks: make(map[market.ClickCell]Clicks), Delays: make(map[uint16]Delay),
		PurchaseAdsMax: shard.PurchaseAdsMax, Bought: make(map[market.PurchaseCell]Bought),
		Traffic:  make(map[uint16][]command.Traffic),
		Auctions: make(map[auctionCell]rollup.Auctions), tallies: make(map[applied]bool),
	}
}

const hourMillis = 3_600_000

// tooEarly reports whether a bucket is before the hour that is the given number of hours before the state clock.
func (m *Model) tooEarly(bucket uint32, hours int64) bool {
	return int64(bucket) < m.Now/hourMillis-hours
}

// Event applies one event record.
func (m *Model) Event(marketplace uint16, r command.EventRecord) command.EventResult {
	if r.OccurredMillis < m.Now-30*24*hourMillis || m.tooEarly(r.Bucket, 30*24) {
		return command.EventResult{Outcome: command.TooOld}
	}
	id := seenKey{"event", r.Bucket, r.Key}
	if m.seen[id] {
		return command.EventResult{Outcome: command.Duplicate}
	}
	if m.Level >= command.LevelEventIDs && m.reportedBefore(&r) {
		return command.EventResult{Outcome: command.Duplicate}
	}
	m.seen[id] = true
	m.reports = append(m.reports, report{r.Key, r.Bucket, m.Now / hourMillis, m.Level})
	result := m.newEvent(marketplace, r)
	m.keepEvent(marketplace, r, result)
	return result
}

// newEvent counts an event whose id was never seen.
func (m *Model) newEvent(marketplace uint16, r command.EventRecord) command.EventResult {
	if r.ReturnOf != [16]byte{} {
		m.takeBack(marketplace, &r)
		return command.EventResult{Outcome: command.Counted}
	}
	counted := Counted{Market: marketplace, EventRecord: r, Charged: new(big.Int), Invalid: valid, opened: m.Now, sold: m.soldItems(&r)}
	var c *Campaign
	for _, x := range m.Campaigns {
		if x.Ordinal == r.Campaign && x.Marketplace == marketplace {
			c = x
		}
	}
	if counted.Invalid = m.reasonOf(c, &r); counted.Invalid != valid {
		counted.Campaign = c.ID
		m.Events = append(m.Events, counted)
		return command.EventResult{Outcome: command.InvalidTraffic}
	}
	outcome := m.charge(c, &r, counted.Charged)
	if c != nil {
		counted.Overdelivery = m.overdeliver(c, outcome.Clipped)
	}
	switch {
	case c != nil:
		counted.Campaign = c.ID
	case !r.ExternalCampaign.IsZero():
		counted.Campaign, counted.Bid = r.ExternalCampaign, 0
	}
	counted.Items = m.countedItems(marketplace, &r)
	m.Events = append(m.Events, counted)
	if c != nil {
		m.participate(marketplace, r.UserHash, r.OccurredMillis, r.Kind, outcome.Charged)
	}
	m.attribute(marketplace, c, &r)
	m.teach(c, &r, outcome.Outcome)
	return outcome
}

// reportedBefore reports whether the id of an event was counted within 72 hours, with another bucket. A report counts as
// made in the hour of its event, at the earliest 4 hours before it, so that an id is known for up to 76 hours.
func (m *Model) reportedBefore(r *command.EventRecord) bool {
	hour := m.Now / hourMillis
	for _, x := range m.reports {
		near := int64(x.bucket) >= x.hour-4 && int64(x.bucket) <= x.hour+1
		inWindow := int64(x.bucket) >= hour-76 && int64(x.bucket) <= hour+1
		if x.key == r.Key && (inWindow || !near && x.level >= command.LevelEventIDs && x.hour >= hour-72) {
			return true
		}
	}
	return false
}

// countedItems returns the items of an event with the product ids under which they are counted.
func (m *Model) countedItems(marketplace uint16, r *command.EventRecord) []command.PurchaseItem {
	items := slices.Clone(r.Items)
	at := unknownDay{marketplace, r.OccurredMillis / (24 * hourMillis)}
	for i := range items {
		id := string(items[i].ProductID)
		switch known := m.unknown[at]; {
		case !items[i].Unknown || known[id]:
		case len(known) >= m.UnknownMax:
			items[i].ProductID = []byte(shard.OtherProduct)
		case known == nil:
			m.unknown[at] = map[string]bool{id: true}
		default:
			known[id] = true
		}
	}
	return items
}

func (m *Model) charge(c *Campaign, r *command.EventRecord, charged *big.Int) command.EventResult {
	if r.Campaign != 0 && (c == nil || c.Status == model.Terminated) {
		return command.EventResult{Outcome: command.UnknownBid}
	}
	clicked := r.Kind == event.Click && r.Charge == model.CPC
	shown := r.Kind == event.Impression && r.Charge == model.CPM
	if c == nil || !clicked && !shown || r.Price == 0 || r.ChargeKey == [16]byte{} {
		return command.EventResult{Outcome: command.Counted}
	}
	if clicked && m.tooEarly(r.Bucket, 7*24) || shown && m.tooEarly(r.Bucket, 24) {
		return command.EventResult{Outcome: command.TooLate}
	}
	id := seenKey{r.Kind.String(), r.Bucket, r.ChargeKey}
	if m.seen[id] {
		return command.EventResult{Outcome: command.AlreadyCharged}
	}
	m.seen[id] = true
	result := m.debit(c, r.Price, r.ChargeKey, charged, command.ReversalPart{Cell: r.Cell, Bid: r.Bid, Kind: r.Kind})
	if clicked && m.Level >= command.LevelTargetReturn && charged.Sign() > 0 && c.HasReturn() {
		c.Returned.Clicks++
		c.Returned.Spend += result.Charged
	}
	return result
}

// debit charges a price, as far as budget and wallet go, and sets charged to the amount. in says where it is counted.
func (m *Model) debit(c *Campaign, of money.Micros, key [16]byte, charged *big.Int, in command.ReversalPart) command.EventResult {
	w, prepaid := m.Wallets[c.Campaign.Wallet], !m.postPaid(c.Marketplace)
	price := big.NewInt(int64(of))
	charged.Set(price)
	limit := func(left *big.Int) {
		if left.Sign() < 0 {
			left.SetInt64(0)
		}
		if charged.Cmp(left) > 0 {
			charged.Set(left)
		}
	}
	if c.Budget > 0 {
		limit(new(big.Int).Sub(c.limit(), c.Spent))
	}
	if prepaid {
		limit(new(big.Int).Set(w.Balance))
	}
	c.Spent.Add(c.Spent, charged)
	c.SpentTotal.Add(c.SpentTotal, charged)
	w.Balance.Sub(w.Balance, charged)
	w.Spent.Add(w.Spent, charged)
	m.emptied(w, new(big.Int).Add(w.Balance, charged))
	over := charged.Sign() > 0 && (c.Budget > 0 && c.Spent.Cmp(c.limit()) > 0 || prepaid && w.Balance.Sign() < 0)
	m.Lines = append(m.Lines, Line{c.Ordinal, key, charged, over})
	in.Amount = micros(charged)
	m.Charges = append(m.Charges, Charge{uint64(len(m.Lines)), c.ID, w.ID, in})

	result := command.EventResult{Outcome: command.Clipped, Charged: micros(charged)}
	result.Clipped = of - result.Charged
	if charged.Sign() == 0 {
		result.Outcome = command.NothingLeft
	}
	if charged.Cmp(price) == 0 {
		result.Outcome = command.Charged
	}
	return result
}

func (m *Model) postPaid(marketplace uint16) bool {
	x := m.Marketplaces[marketplace]
	return x != nil && x.PostPaid
}

// Advance applies an Advance.
func (m *Model) Advance(a *command.Advance) {
	m.advanceTurn(modelTick)
	m.purgeTouches()
	m.purgeEvents()
	for _, p := range a.Periods {
		old := m.Periods[p.Marketplace]
		now := command.Periods{
			Marketplace: p.Marketplace, Day: max(old.Day, p.Day), Week: max(old.Week, p.Week), Month: max(old.Month, p.Month),
		}
		m.Periods[p.Marketplace] = now
		m.decay(p.Marketplace, now.Day-old.Day)
		m.ageBought(p.Marketplace, now.Day-old.Day)
		for _, c := range m.Campaigns {
			if n := number(now, c.Period); c.Marketplace == p.Marketplace && n > c.PeriodNumber {
				c.PeriodNumber = n
				m.begin(c)
				spent := c.Spent
				c.Overdelivered = new(big.Int)
				if m.startDay(c, old.Month == now.Month) || spent.Sign() != 0 {
					m.journalBudget(c)
				}
			}
		}
	}
}

func number(p command.Periods, kind model.Period) uint32 {
	return [...]uint32{model.Daily: p.Day, model.Weekly: p.Week, model.Monthly: p.Month, model.Total: 0}[kind]
}

// Count sums the counters of a campaign, or of the events of no campaign when id is zero.
func (m *Model) Count(id ids.UUID, marketplace uint16) (sum rollup.Counters) {
	return m.countAt(id, marketplace, func(event.Place) bool { return true })
}

// countAt sums the counters of a campaign at some places. What was given back has no place, which counts as place 0.
func (m *Model) countAt(id ids.UUID, marketplace uint16, at func(event.Place) bool) (sum rollup.Counters) {
	for i := range m.Events {
		e := &m.Events[i]
		if e.Campaign != id || id.IsZero() && e.Market != marketplace || !at(e.Place) {
			continue
		}
		one := rollup.Counters{}
		charged := int64(0)
		if e.Charged.Sign() > 0 {
			charged = 1
		}
		if e.Invalid != valid {
			one.Invalid[e.Invalid] = 1
			sum.Add(&one)
			continue
		}
		switch e.Kind {
		case event.Impression:
			one = rollup.Counters{Impressions: 1, ChargedImpressions: charged, SpentImpressions: micros(e.Charged)}
		case event.Click:
			one = rollup.Counters{Clicks: 1, ChargedClicks: charged, SpentClicks: micros(e.Charged)}
		case event.Purchase:
			one.Purchases = 1
			if e.cameBack() {
				one.Purchases = 0
			}
			for i := range e.Items {
				item := e.Items[i]
				item.Quantity -= e.returned(i)
				one.PurchaseQuantity += item.Quantity
				one.PurchaseAmount += micros(new(big.Int).Mul(big.NewInt(int64(item.UnitPrice)), big.NewInt(item.Quantity)))
			}
		case event.Pageview:
			one.Pageviews = 1
		}
		one.Overdelivery = e.Overdelivery
		sum.Add(&one)
	}
	for i := range m.Credits {
		if c := &m.Credits[i]; c.To == id && at(c.Place) {
			one := c.counts()
			one.Overdelivery = money.Micros(c.Clipped)
			sum.Add(&one)
		}
	}
	if at(0) {
		m.subtractReversals(id, &sum)
	}
	return sum
}

// CountProduct sums the purchases of a product.
func (m *Model) CountProduct(marketplace uint16, product string) (sum rollup.Counters) {
	for i := range m.Events {
		for j, item := range m.Events[i].Items {
			if m.Events[i].Market == marketplace && string(item.ProductID) == product {
				if item.Quantity -= m.Events[i].returned(j); item.Quantity > 0 {
					sum.Purchases++
				}
				sum.PurchaseQuantity += item.Quantity
				sum.PurchaseAmount += micros(new(big.Int).Mul(big.NewInt(int64(item.UnitPrice)), big.NewInt(item.Quantity)))
			}
		}
	}
	return sum
}
