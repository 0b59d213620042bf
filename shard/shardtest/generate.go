package shardtest

import (
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Dice makes the choices of a Generator: a number from 0 to n-1.
type Dice func(n int, what string) int

// Generator makes random commands that make sense often enough, and applies each to its model. The world is small on
// purpose: two marketplaces, three vendors, few campaigns and tight budgets, so that repeats, clipped charges and
// conflicts are the rule.
type Generator struct {
	Model *Model
	Fixed bool // No command changes the feature level.
	Alone bool // There is no other group to send money to or to get some from.
	dice  Dice
	now   int64 // The proposers' clock; the model's may be ahead of it.
	was   int64 // The model's clock before the step under way.
	seq   int
	sent  []sent
	asked []command.AdjustWallet
	moved []command.Transfer
	named []command.OpenAccount
	made  []command.CreateCampaign
	token []token
	tried []tried
}

type sent struct {
	marketplace uint16
	record      command.EventRecord
}

// token is what an auction handed out.
type token struct {
	marketplace   uint16
	campaign, bid uint32
	price         money.Micros
	charge        market.ChargeType
	hour          uint32
}

// Step is one command with the answer that the model gives.
type Step struct {
	Name    string
	Command []byte
	Events  []command.EventResult // Of an Events command.
	Result  command.Result        // Of any other.
}

// Check compares an answer of the machine with the model's.
func (s *Step) Check(answer []byte) error {
	if s.Events == nil {
		got, err := command.ReadResult(answer)
		if err != nil || got != s.Result {
			return fmt.Errorf("%s: machine says %+v (%w), model %+v", s.Name, got, err, s.Result)
		}
		return nil
	}
	got, err := command.ReadEventResults(nil, answer)
	if err != nil || !slices.Equal(got, s.Events) {
		return fmt.Errorf("%s: machine says %+v (%w), model %+v", s.Name, got, err, s.Events)
	}
	return nil
}

// NewGenerator starts a world on 2026-11-20 in an empty group.
func NewGenerator(dice Dice) *Generator {
	return &Generator{Model: NewModel(), dice: dice, now: 1_795_132_800_000}
}

// Step makes one command.
func (g *Generator) Step() Step {
	g.tick()
	kinds := []func() Step{
		g.events, g.events, g.events, g.events, g.events, g.events, g.events, g.events, g.adjust, g.adjust, g.create, g.create, g.patch, g.bids,
		g.advance, g.advance, g.marketplace, g.records, g.categories, g.products, g.remove, g.feature,
		g.repeat, g.repeat, g.late,
		g.account, g.transfer, g.transfer, g.transfer, g.forget,
	}
	return g.attempt(kinds[g.dice(len(kinds), "command")]())
}

// tick moves the proposers' clock: mostly not, sometimes by exactly a window, because off by one shows at its edge,
// sometimes back.
func (g *Generator) tick() {
	const hour = hourMillis
	steps := [...]int64{200, 60_000, -5_000, -2 * hour, hour, 7 * hour, 24 * hour, 24 * hour, 7 * 24 * hour, 30 * 24 * hour}
	if i := g.dice(12*len(steps), "time passes"); i < len(steps) {
		g.now += steps[i]
	}
	g.was = g.Model.Now
	g.Model.Now = max(g.was, g.now)
}

func (g *Generator) id(kind byte, n int) ids.UUID {
	return ids.UUID{0: kind, 6: 0x70, 8: 0x80, 13: byte(n >> 8), 14: byte(n)}
}

func (g *Generator) market() uint16 { return uint16(1 + g.dice(4, "marketplace")/3) }
func (g *Generator) vendor() string { return fmt.Sprint("v", g.dice(3, "vendor")) }

func (g *Generator) amount(what string) money.Micros {
	return []money.Micros{1, 99, 100, 101, 250, 1_000, 10_000}[g.dice(7, what)]
}

func (g *Generator) events() Step {
	e := command.Events{Marketplace: g.market()}
	s := Step{Name: "events", Events: []command.EventResult{}}
	for range g.dice(4, "events") {
		r := g.event(e.Marketplace)
		e.Records = append(e.Records, r)
		s.Events = append(s.Events, g.Model.Event(e.Marketplace, r))
	}
	s.Command = command.AppendEvents(nil, g.now, &e)
	return s
}

func (g *Generator) event(marketplace uint16) command.EventRecord {
	if len(g.sent) > 0 && g.dice(4, "repeat an event") == 0 {
		old := g.sent[max(0, len(g.sent)-1-g.dice(12, "which event"))]
		return old.record
	}
	g.seq++
	r := command.EventRecord{
		Key: g.id('e', g.seq), Kind: event.Kind(g.dice(event.Kinds, "kind")),
		OccurredMillis: g.now - []int64{40 * 24 * hourMillis, 3 * hourMillis, 5_000, 0}[min(3, g.dice(20, "age"))],
		UserHash:       uint64(g.dice(3, "user")),
	}
	r.Bucket, r.Cell = event.BucketOf(r.OccurredMillis), event.BucketOf(r.OccurredMillis)*4
	if n := g.dice(16, "about"); n > 1 {
		g.withToken(&r, marketplace)
	} else if n == 1 && len(g.Model.Campaigns) > 0 {
		r.ExternalCampaign = g.Model.Campaigns[g.dice(len(g.Model.Campaigns), "campaign")].ID
	} else {
		r.EntityType, r.Entity = event.ProductEntity, []byte("p1")
	}
	if r.Kind == event.Purchase {
		for i := range g.dice(3, "items") {
			r.Items = append(r.Items, command.PurchaseItem{
				ProductID: fmt.Append(nil, "p", i), Quantity: int64(1 + g.dice(3, "quantity")), UnitPrice: g.amount("item price"),
			})
		}
	}
	g.sent = append(g.sent, sent{marketplace, r})
	return r
}

// withToken puts what a token says into a record. Few tokens live at a time, so that several events report one.
func (g *Generator) withToken(r *command.EventRecord, marketplace uint16) {
	if len(g.token) == 0 || g.dice(2, "new token") == 0 {
		t := token{
			marketplace: marketplace, price: g.amount("price") * money.Micros(min(1, g.dice(9, "free"))),
			campaign: g.served(marketplace), bid: uint32(1 + g.dice(5, "bid")),
			charge: []market.ChargeType{market.CPA, market.CPM, market.CPM, market.CPM, market.CPC, market.CPC, market.CPC}[g.dice(7, "charge type")],
			hour:   event.BucketOf(g.now),
		}
		g.token = append(g.token, t)
	}
	n := max(0, len(g.token)-1-g.dice(3, "which token"))
	for n > 0 && g.token[n].marketplace != marketplace {
		n--
	}
	t := g.token[n]
	r.Campaign, r.Bid, r.Price, r.Charge, r.Bucket = t.campaign, t.bid, t.price, t.charge, t.hour
	r.ChargeKey = g.id(byte('k'+r.Kind), n+1)
	if g.dice(4, "paying interaction") > 0 {
		r.Kind = map[market.ChargeType]event.Kind{market.CPC: event.Click, market.CPM: event.Impression, market.CPA: event.Purchase}[t.charge]
		r.ChargeKey = g.id(byte('k'+r.Kind), n+1)
	}
}

// served names a campaign that wins an auction of a marketplace; sometimes one that cannot, as no honest token would.
func (g *Generator) served(marketplace uint16) uint32 {
	var own []uint32
	for _, c := range g.Model.Campaigns {
		if c.Marketplace == marketplace && c.Status != market.Terminated {
			own = append(own, c.Ordinal)
		}
	}
	if len(own) == 0 || g.dice(8, "dishonest") == 0 {
		return uint32(1 + g.dice(len(g.Model.Campaigns)+1, "campaign"))
	}
	return own[g.dice(len(own), "campaign")]
}

func (g *Generator) adjust() Step {
	g.seq++
	a := command.AdjustWallet{
		Request: g.id('r', g.seq), Marketplace: g.market(), VendorID: g.vendor(), Amount: g.amount("amount"),
		Strict: g.dice(4, "strict") > 0, Description: fmt.Sprint("note ", g.dice(3, "description")),
	}
	switch g.dice(8, "adjustment") {
	case 0, 1:
		a.Amount = -a.Amount
	case 2:
		a.Wallet = g.id('w', 1) // Nobody's.
	case 3:
		a.Wallet = g.walletOf(a.Marketplace, a.VendorID)
	case 4:
		if len(g.asked) > 0 {
			a = g.asked[g.dice(len(g.asked), "which adjustment")]
		}
	}
	g.asked = append(g.asked, a)
	return Step{Name: "adjust", Command: command.AppendAdjustWallet(nil, g.now, &a), Result: g.Model.Adjust(&a)}
}

func (g *Generator) create() Step {
	g.seq++
	x := command.CreateCampaign{Campaign: market.Campaign{
		ID: g.id('c', g.seq), Marketplace: g.market(), VendorID: g.vendor(), Name: "n", Status: market.Approved, Active: true,
		Charge: market.CPC, Period: market.Period(g.dice(4, "period")), CreatedMillis: g.now, UpdatedMillis: g.now,
		Format: market.AdFormat(g.dice(2, "format")),
	}}
	c := &x.Campaign
	c.ID[15] = byte(ids.ShardOf(ids.AccountOf(c.Marketplace, c.VendorID)))
	if g.dice(2, "wallet") == 0 {
		c.Wallet = g.walletOf(c.Marketplace, c.VendorID)
	}
	if g.dice(3, "budget") > 0 {
		c.Budget = g.amount("budget")
	}
	if g.dice(3, "external id") == 0 {
		c.ExternalID = fmt.Sprint("x", g.dice(3, "which external id"))
	}
	for range g.dice(3, "bids") {
		x.Bids = append(x.Bids, g.bid())
	}
	if len(g.made) > 0 && g.dice(5, "repeat a creation") == 0 {
		x = g.made[g.dice(len(g.made), "which creation")]
	}
	g.made = append(g.made, x)
	return Step{Name: "create", Command: command.AppendCreateCampaign(nil, g.now, &x), Result: g.Model.Create(&x)}
}

func (g *Generator) bid() market.Bid {
	g.seq++
	return market.Bid{
		ID: g.id('b', g.seq), Target: fmt.Sprint("p", g.dice(3, "target")), Amount: g.amount("bid"), Active: true,
		Triggers: []market.Trigger{{Kind: market.TriggerCategory, Value: "c"}}, CreatedMillis: g.now, UpdatedMillis: g.now,
	}
}

// campaign names a campaign, sometimes one that does not exist or is another marketplace's.
func (g *Generator) campaign() (ids.UUID, uint16) {
	n := g.dice(len(g.Model.Campaigns)+1, "campaign")
	if n == len(g.Model.Campaigns) {
		return g.id('c', 9_999), 1
	}
	c := g.Model.Campaigns[n]
	if g.dice(8, "stranger") == 0 {
		return c.ID, 3 - c.Marketplace
	}
	return c.ID, c.Marketplace
}

func (g *Generator) patch() Step {
	p := command.PatchCampaign{}
	p.Campaign, p.Marketplace = g.campaign()
	if g.dice(2, "patch budget") == 0 {
		p.Budget = new(g.amount("budget") * money.Micros(g.dice(3, "times")))
	}
	if g.dice(3, "patch period") == 0 {
		p.Period = new(market.Period(g.dice(4, "period")))
	}
	if g.dice(3, "patch active") == 0 {
		p.Active = new(g.dice(2, "active") == 0)
	}
	if g.dice(6, "patch status") == 0 {
		p.Status = new(market.Status(g.dice(4, "status")))
	}
	if g.Model.Level >= command.LevelWallets && g.dice(4, "patch wallet") == 0 {
		p.Wallet = new(g.walletOf(p.Marketplace, g.vendor()))
	}
	return Step{Name: "patch", Command: command.AppendPatchCampaign(nil, g.now, &p), Result: g.Model.Patch(&p)}
}

func (g *Generator) bids() Step {
	p := command.PutBids{}
	p.Campaign, p.Marketplace = g.campaign()
	var known []market.Bid
	for _, c := range g.Model.Campaigns {
		for _, b := range c.Bids {
			known = append(known, *b)
		}
	}
	for range 1 + g.dice(3, "bids") {
		b := g.bid()
		if len(known) > 0 && g.dice(2, "known bid") == 0 {
			i := g.dice(len(known), "which bid")
			b.ID = known[i].ID
			known = slices.Delete(known, i, i+1)
			b.Deleted = g.dice(3, "delete") == 0
		}
		p.Bids = append(p.Bids, b)
	}
	return Step{Name: "bids", Command: command.AppendPutBids(nil, g.now, &p), Result: g.Model.PutBids(&p)}
}

func (g *Generator) advance() Step {
	days := uint32(g.now / (24 * hourMillis))
	p := command.Periods{
		Marketplace: g.market(), Day: days - uint32(g.dice(2, "behind")), Week: (days + 3) / 7, Month: days / 30,
	}
	a := command.Advance{Periods: []command.Periods{p}}
	g.Model.Advance(&a)
	return Step{Name: "advance", Command: command.AppendAdvance(nil, g.now, &a)}
}

func (g *Generator) marketplace() Step {
	x := market.Marketplace{Ordinal: g.market(), Name: "m", CurrencyCode: "USD", PostPaid: g.dice(4, "post") == 0}
	return Step{Name: "marketplace", Command: command.AppendPutMarketplace(nil, g.now, &x), Result: g.Model.Marketplace(x)}
}

func (g *Generator) feature() Step {
	level := command.Level(min(g.dice(2*int(command.LevelNewest), "level"), int(command.LevelNewest))) //nolint:gosec // a handful.
	if g.Fixed {
		level = 0
	}
	return Step{Name: "feature", Command: command.AppendSetFeature(nil, g.now, command.SetFeature{Level: level}), Result: g.Model.Feature(level)}
}

func (g *Generator) records() Step {
	p := command.PutRecords{}
	for range 1 + g.dice(3, "records") {
		r := command.Record{
			Kind: command.RecordAPIKey, Marketplace: 1, ID: fmt.Sprint("k", g.dice(4, "record")), Expect: command.Any,
			Class: fmt.Sprint("c", g.dice(2, "class")), Max: g.dice(4, "max"), NotLast: g.dice(2, "not last") == 0,
		}
		if g.dice(3, "new") == 0 {
			r.Expect = 0
		}
		if g.dice(2, "expires") == 0 {
			r.ExpiresMillis = g.Model.Now + 1 + int64(g.dice(5_000, "after"))
		}
		if g.dice(3, "delete") > 0 {
			r.Value = fmt.Append(nil, "value ", g.dice(3, "value"))
		}
		p.Records = append(p.Records, r)
	}
	return Step{Name: "records", Command: command.AppendPutRecords(nil, g.now, &p), Result: g.Model.PutRecords(&p)}
}

func (g *Generator) categories() Step {
	p := command.PutCategories{Marketplace: g.market()}
	for range 1 + g.dice(3, "categories") {
		c := market.Category{ID: fmt.Sprint("c", g.dice(5, "category")), Name: "n", CreatedMillis: g.now, UpdatedMillis: g.now}
		if g.dice(3, "root") > 0 {
			c.ParentID = fmt.Sprint("c", g.dice(5, "parent"))
		}
		p.Categories = append(p.Categories, c)
	}
	return Step{Name: "categories", Command: command.AppendPutCategories(nil, g.now, &p), Result: g.Model.PutCategories(&p)}
}

func (g *Generator) products() Step {
	p := command.PutProducts{Marketplace: g.market()}
	for range 1 + g.dice(3, "products") {
		p.Products = append(p.Products, market.Product{
			ID: fmt.Sprint("p", g.dice(5, "product")), Name: "n", Vendors: []string{g.vendor()}, Categories: []string{"c1"},
			Active: true, Price: g.amount("price"), CreatedMillis: g.now, UpdatedMillis: g.now,
		})
	}
	return Step{Name: "products", Command: command.AppendPutProducts(nil, g.now, &p), Result: g.Model.PutProducts(&p)}
}

func (g *Generator) remove() Step {
	x := command.DeleteCatalog{
		Marketplace: g.market(), Products: []string{fmt.Sprint("p", g.dice(5, "product"))},
		Categories: []string{fmt.Sprint("c", g.dice(5, "category"))},
	}
	return Step{Name: "remove", Command: command.AppendDeleteCatalog(nil, g.now, &x), Result: g.Model.Delete(&x)}
}
