package shardtest

import (
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Choose makes a choice of a Generator: it returns a number from 0 to n-1. what names the choice.
type Choose func(n int, what string) int

// Generator makes random commands, many of them valid, and applies each to its model. There are only two marketplaces,
// three vendors, few campaigns and small budgets, so that repeats, clipped charges and conflicts are frequent.
type Generator struct {
	Model       *Model
	Fixed       bool // No command changes the feature level.
	Alone       bool // There is no other group for transfers.
	choose      Choose
	now         int64 // The proposers' clock; the model's clock may be ahead of it.
	previousNow int64 // The model's clock before the current step.
	seq         int
	sent        []sent
	asked       []command.AdjustWallet
	moved       []command.Transfer
	named       []command.OpenAccount
	made        []command.CreateCampaign
	token       []token
	attempted   []sentAttempt
	reversed    []command.Reverse
	decisions   []command.CreditDecision
	issued      []uint32         // The hours of the tokens that credits pay for.
	seen        []model.Campaign // Campaigns as proposers have read them.
}

type sent struct {
	marketplace uint16
	record      command.EventRecord
}

// token is the content of a resolvedBidId that an auction has issued.
type token struct {
	marketplace   uint16
	campaign, bid uint32
	price         money.Micros
	charge        model.ChargeType
	hour          uint32
	rank          uint8
	placement     uint8
	product       string
}

// Step is one command with the model's answer.
type Step struct {
	Name    string
	Command []byte
	Events  []command.EventResult // The answer to an Events command.
	Result  command.Result        // The answer to any other command.
}

// Check compares an answer of the machine with the model's.
func (s *Step) Check(answer []byte) error {
	if s.Events == nil {
		got, err := command.ReadResult(answer)
		if err != nil || got != s.Result {
			return fmt.Errorf("%s: the machine answers %+v (%w), the model %+v", s.Name, got, err, s.Result)
		}
		return nil
	}
	got, err := command.ReadEventResults(nil, answer)
	if err != nil || !slices.Equal(got, s.Events) {
		return fmt.Errorf("%s: the machine answers %+v (%w), the model %+v", s.Name, got, err, s.Events)
	}
	return nil
}

// NewGenerator returns a Generator for an empty group whose clock starts on 2026-11-20.
func NewGenerator(choose Choose) *Generator {
	return &Generator{Model: NewModel(), choose: choose, now: 1_795_132_800_000}
}

// Step returns the next command.
func (g *Generator) Step() Step {
	g.tick()
	kinds := []func() Step{
		g.events, g.events, g.events, g.events, g.events, g.events, g.events, g.events, g.adjust, g.adjust, g.create, g.create, g.patch, g.bids,
		g.advance, g.advance, g.marketplace, g.records, g.categories, g.products, g.remove, g.feature,
		g.repeat, g.repeat, g.late,
		g.account, g.transfer, g.transfer, g.transfer, g.forget, g.patchBid, g.patchProducts, g.mark, g.forgetNotices,
		g.pace, g.pace,
		g.traffic, g.auctions, g.credits, g.credits, g.credits, g.returns, g.reverse,
		g.link, g.link, g.forgetUser, g.enrol, g.enrol,
	}
	return g.attempt(kinds[g.choose(len(kinds), "command")]())
}

// tick moves the proposers' clock with a small probability: sometimes by exactly a window, to find off-by-one errors,
// and sometimes back.
func (g *Generator) tick() {
	const hour = hourMillis
	steps := [...]int64{200, 60_000, -5_000, -2 * hour, hour, 7 * hour, 24 * hour, 24 * hour, 7 * 24 * hour, 30 * 24 * hour}
	if i := g.choose(12*len(steps), "time passes"); i < len(steps) {
		g.now += steps[i]
	}
	g.previousNow = g.Model.Now
	g.Model.Now = max(g.previousNow, g.now)
}

func (g *Generator) id(kind byte, n int) ids.UUID {
	return ids.UUID{0: kind, 6: 0x70, 8: 0x80, 13: byte(n >> 8), 14: byte(n)}
}

func (g *Generator) market() uint16 { return uint16(1 + g.choose(4, "marketplace")/3) }
func (g *Generator) vendor() string { return fmt.Sprint("v", g.choose(3, "vendor")) }

func (g *Generator) amount(what string) money.Micros {
	return []money.Micros{1, 99, 100, 101, 250, 1_000, 10_000}[g.choose(7, what)]
}

// EventStep returns a command of events.
func (g *Generator) EventStep() Step {
	g.tick()
	return g.events()
}

func (g *Generator) events() Step {
	e := command.Events{Marketplace: g.market()}
	s := Step{Name: "events", Events: []command.EventResult{}}
	for range g.choose(4, "events") {
		r := g.event(e.Marketplace)
		e.Records = append(e.Records, r)
		s.Events = append(s.Events, g.Model.Event(e.Marketplace, r))
	}
	s.Command = command.AppendEvents(nil, g.now, &e)
	return s
}

func (g *Generator) event(marketplace uint16) command.EventRecord {
	if len(g.sent) > 0 && g.choose(4, "repeat an event") == 0 {
		r := g.sent[max(0, len(g.sent)-1-g.choose(12, "which event"))].record
		if r.Campaign == 0 && g.choose(2, "stamp it again") == 0 { // A token fixes the hour of its events.
			r.OccurredMillis = g.now - int64(g.choose(3, "how long ago"))*3*hourMillis
			r.Bucket = event.BucketOf(r.OccurredMillis)
		}
		return r
	}
	g.seq++
	r := command.EventRecord{
		Key: g.id('e', g.seq), Kind: event.Kind(g.choose(event.Kinds, "kind")),
		OccurredMillis: g.now - []int64{40 * 24 * hourMillis, 3 * hourMillis, 5_000, 0}[min(3, g.choose(20, "age"))],
		UserHash:       uint64(g.choose(3, "user")),
	}
	r.Bucket, r.Cell = event.BucketOf(r.OccurredMillis), event.BucketOf(r.OccurredMillis)*4
	if n := g.choose(16, "about"); n > 1 {
		g.withToken(&r, marketplace)
	} else if n == 1 && len(g.Model.Campaigns) > 0 {
		r.ExternalCampaign, r.Place = g.Model.Campaigns[g.choose(len(g.Model.Campaigns), "campaign")].ID, g.place(0)
	} else {
		r.EntityType, r.Entity = event.ProductEntity, []byte("p1")
	}
	if r.Kind == event.Purchase && g.Model.Level >= command.LevelReturns && g.choose(3, "return") == 0 {
		return g.returned(marketplace, r)
	}
	if r.Kind == event.Purchase {
		for i := range g.choose(3, "items") {
			r.Items = append(r.Items, command.PurchaseItem{
				ProductID: fmt.Append(nil, "p", i), Quantity: int64(1 + g.choose(3, "quantity")), UnitPrice: g.amount("item price"),
			})
			if g.Model.Level >= command.LevelProducts && g.choose(2, "unknown") == 0 {
				all := unknownIDs()
				item := &r.Items[i]
				item.ProductID, item.Unknown = []byte(all[g.choose(len(all), "which unknown")]), true
			}
		}
	}
	g.sent = append(g.sent, sent{marketplace, r})
	return r
}

// unknownIDs returns the ids of the products that are not in the catalog.
func unknownIDs() []string { return []string{"u0", "u1", "u2", "u3", "u4"} }

// withToken sets the members of a record that come from a token. There are few tokens, so that several events report
// the same one.
func (g *Generator) withToken(r *command.EventRecord, marketplace uint16) {
	if len(g.token) == 0 || g.choose(2, "new token") == 0 {
		t := token{
			marketplace: marketplace, price: g.amount("price") * money.Micros(min(1, g.choose(9, "free"))),
			campaign: g.served(marketplace), bid: uint32(1 + g.choose(5, "bid")),
			charge: []model.ChargeType{model.CPA, model.CPM, model.CPM, model.CPM, model.CPC, model.CPC, model.CPC}[g.choose(7, "charge type")],
			hour:   event.BucketOf(g.now),
			rank:   uint8(1 + g.choose(4, "rank")), placement: uint8(g.choose(2, "placement")), product: []string{"", "p1", "p2", "p3", "p4"}[g.choose(5, "product")],
		}
		g.token = append(g.token, t)
	}
	n := max(0, len(g.token)-1-g.choose(3, "which token"))
	for n > 0 && g.token[n].marketplace != marketplace {
		n--
	}
	t := g.token[n]
	r.Campaign, r.Bid, r.Price, r.Charge, r.Bucket = t.campaign, t.bid, t.price, t.charge, t.hour
	r.Place = g.place(t.placement)
	if g.Model.Level >= command.LevelPacing && g.choose(8, "teaches") > 0 {
		r.Rank, r.AgeSeconds = t.rank, []uint32{0, 20, 600, event.AgeSecondsMax}[g.choose(4, "delay")]
		if t.product != "" {
			r.Product = []byte(t.product)
		}
	}
	r.ChargeKey = g.id(byte('k'+r.Kind), n+1)
	if g.choose(4, "paying interaction") > 0 {
		r.Kind = map[model.ChargeType]event.Kind{model.CPC: event.Click, model.CPM: event.Impression, model.CPA: event.Purchase}[t.charge]
		r.ChargeKey = g.id(byte('k'+r.Kind), n+1)
	}
}

// place returns a place of a placement: some device and channel, once the level lets records have them.
func (g *Generator) place(placement uint8) event.Place {
	if g.Model.Level < command.LevelPlaces {
		return event.PlaceOf(placement, event.UnknownDevice, event.OnSite)
	}
	return event.PlaceOf(placement, event.Device(g.choose(event.Devices, "device")), event.Channel(g.choose(2, "channel")))
}

// served names a campaign that wins an auction of a marketplace; sometimes one that cannot, as no honest token would.
func (g *Generator) served(marketplace uint16) uint32 {
	var own []uint32
	for _, c := range g.Model.Campaigns {
		if c.Marketplace == marketplace && c.Status != model.Terminated {
			own = append(own, c.Ordinal)
		}
	}
	if len(own) == 0 || g.choose(8, "dishonest") == 0 {
		return uint32(1 + g.choose(len(g.Model.Campaigns)+1, "campaign"))
	}
	return own[g.choose(len(own), "campaign")]
}

func (g *Generator) adjust() Step {
	g.seq++
	a := command.AdjustWallet{
		Request: g.id('r', g.seq), Marketplace: g.market(), VendorID: g.vendor(), Amount: g.amount("amount"),
		Strict: g.choose(4, "strict") > 0, Description: fmt.Sprint("note ", g.choose(3, "description")),
	}
	switch g.choose(8, "adjustment") {
	case 0, 1:
		a.Amount = -a.Amount
	case 2:
		a.Wallet = g.id('w', 1) // Nobody's.
	case 3:
		a.Wallet = g.walletOf(a.Marketplace, a.VendorID)
	case 4:
		if len(g.asked) > 0 {
			a = g.asked[g.choose(len(g.asked), "which adjustment")]
		}
	}
	if a.Strict && a.Amount < 0 && g.Model.Level >= command.LevelReports {
		for range g.choose(3, "others") {
			a.Others = append(a.Others, g.walletOf(a.Marketplace, a.VendorID))
		}
	}
	g.asked = append(g.asked, a)
	_, repeated := g.Model.adjusts[a.Request]
	s := Step{Name: "adjust", Command: command.AppendAdjustWallet(nil, g.now, &a), Result: g.Model.Adjust(&a)}
	return g.audit(s, a.Marketplace, !repeated)
}
