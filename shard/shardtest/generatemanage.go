package shardtest

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/document"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

func (g *Generator) create() Step {
	g.seq++
	x := command.CreateCampaign{Campaign: model.Campaign{
		ID: g.id('c', g.seq), Marketplace: g.market(), VendorID: g.vendor(), Name: "n", Status: model.Approved, Active: true,
		Charge: model.CPC, Period: model.Period(g.choose(4, "period")), CreatedMillis: g.now, UpdatedMillis: g.now,
		Format: model.AdFormat(g.choose(2, "format")),
	}}
	c := &x.Campaign
	c.Type = []string{model.Manual, model.Autobidding, model.Exclusive, model.Exclusive}[g.choose(4, "type")]
	if c.Type == model.Autobidding {
		c.TargetROASMilli = uint32(g.choose(3, "target") * 1_500) // A handful.
	}
	if g.Model.Level >= command.LevelHoldouts {
		c.HoldoutPercent = uint8(g.choose(3, "holdout") * 25) // At most 50.
	}
	if g.choose(3, "end") == 0 {
		c.EndMillis = g.now + hourMillis
	}
	if g.choose(6, "paid by purchases") == 0 {
		c.Charge = model.CPA
	}
	c.ID[15] = byte(ids.ShardOf(ids.AccountOf(c.Marketplace, c.VendorID)))
	if g.choose(2, "wallet") == 0 {
		c.Wallet = g.walletOf(c.Marketplace, c.VendorID)
	}
	if g.choose(3, "budget") > 0 {
		c.Budget = g.amount("budget")
	}
	if g.choose(3, "external id") == 0 {
		c.ExternalID = fmt.Sprint("x", g.choose(3, "which external id"))
	}
	for range g.choose(3, "bids") {
		x.Bids = append(x.Bids, g.bid())
	}
	if len(g.made) > 0 && g.choose(5, "repeat a creation") == 0 {
		x = g.made[g.choose(len(g.made), "which creation")]
	}
	g.made = append(g.made, x)
	before := len(g.Model.Campaigns)
	s := Step{Name: "create", Command: command.AppendCreateCampaign(nil, g.now, &x), Result: g.Model.Create(&x)}
	made := len(g.Model.Campaigns) > before
	return g.audit(g.notify(s, c.Marketplace, made), c.Marketplace, made)
}

func (g *Generator) bid() model.Bid {
	g.seq++
	return model.Bid{
		ID: g.id('b', g.seq), Target: fmt.Sprint("p", g.choose(3, "target")), Amount: g.amount("bid"), Active: true,
		Triggers: []model.Trigger{{Kind: model.TriggerCategory, Value: "c"}}, CreatedMillis: g.now, UpdatedMillis: g.now,
	}
}

// campaign returns the id of a campaign, sometimes of one that does not exist or belongs to another marketplace.
func (g *Generator) campaign() (ids.UUID, uint16) {
	n := g.choose(len(g.Model.Campaigns)+1, "campaign")
	if n == len(g.Model.Campaigns) {
		return g.id('c', 9_999), 1
	}
	c := g.Model.Campaigns[n]
	if g.choose(8, "unknown campaign") == 0 {
		return c.ID, 3 - c.Marketplace
	}
	return c.ID, c.Marketplace
}

func (g *Generator) patch() Step {
	p := command.PatchCampaign{}
	p.Campaign, p.Marketplace = g.campaign()
	if g.choose(2, "patch budget") == 0 {
		p.Budget = new(g.amount("budget") * money.Micros(g.choose(3, "times")))
	}
	if g.choose(3, "patch period") == 0 {
		p.Period = new(model.Period(g.choose(4, "period")))
	}
	if g.choose(3, "patch active") == 0 {
		p.Active = new(g.choose(2, "active") == 0)
	}
	if g.choose(6, "patch status") == 0 {
		p.Status = new(model.Status(g.choose(4, "status")))
	}
	if g.choose(6, "patch end") == 0 {
		p.EndMillis = new([]int64{0, g.now, g.now + 48*hourMillis}[g.choose(3, "end")])
	}
	if g.choose(6, "patch target") == 0 {
		p.TargetROASMilli = new(uint32(g.choose(3, "target") * 1_500)) // A handful.
	}
	if g.Model.Level >= command.LevelHoldouts && g.choose(6, "patch holdout") == 0 {
		p.HoldoutPercent = new(uint8(g.choose(3, "holdout") * 25)) // At most 50.
	}
	if g.choose(4, "patch wallet") == 0 {
		p.Wallet = new(g.walletOf(p.Marketplace, g.vendor()))
	}
	seen := g.expect(&p)
	c := g.Model.campaign(p.Marketplace, p.Campaign)
	ended := c != nil && c.Status == model.Terminated
	s := Step{Name: "patch", Command: command.AppendPatchCampaign(nil, g.now, &p), Result: g.Model.Patch(&p, seen)}
	return g.audit(g.notify(s, p.Marketplace, !ended), p.Marketplace, !ended)
}

// expect gives some patches an expectation: the campaign as it is now, or as it was at an earlier patch.
func (g *Generator) expect(p *command.PatchCampaign) (seen *model.Campaign) {
	c := g.Model.campaign(p.Marketplace, p.Campaign)
	if c == nil || g.Model.Level < command.LevelVersions || g.choose(2, "expectation") == 0 {
		return nil
	}
	if g.choose(2, "patch start") == 0 {
		p.StartMillis = new(g.now)
	}
	if g.choose(2, "patch document") == 0 {
		p.Document = fmt.Appendf(nil, `{"n":%d}`, g.choose(3, "document"))
	}
	g.seen = append(g.seen, c.Campaign)
	seen = &g.seen[len(g.seen)-1]
	if g.choose(2, "read before") == 0 {
		for i := range g.seen {
			if g.seen[i].ID == c.ID {
				seen = &g.seen[i]
				break
			}
		}
	}
	members := [...]command.Members{command.MembersDates, command.MembersStatus, command.MembersDocument}
	p.Expect = command.ExpectCampaign(seen, members[g.choose(3, "member")]|members[g.choose(3, "another member")])
	return seen
}

// mark marks vendors as deleted or as there again, sometimes by what was read before another mark.
func (g *Generator) mark() Step {
	p := command.MarkVendors{Marketplace: g.market()}
	for range 1 + g.choose(2, "marks") {
		x := command.VendorMark{VendorID: g.vendor()}
		x.Expect = g.Model.Marks[Name{Market: p.Marketplace, ID: x.VendorID}]
		if g.choose(4, "old mark") == 0 {
			x.Expect = g.id('m', g.choose(20, "which mark"))
		}
		if g.seq++; g.choose(3, "deleted") == 0 {
			x.Deletion = g.id('m', g.seq)
		}
		p.Marks = append(p.Marks, x)
	}
	s := Step{Name: "mark", Command: command.AppendMarkVendors(nil, g.now, &p), Result: refuse(command.TooEarly, 0)}
	if g.Model.Level >= command.LevelCampaignRules {
		s.Result = g.Model.MarkVendors(&p)
	}
	return g.audit(s, p.Marketplace, true)
}

// patchBid changes members of a bid, sometimes of a bid of another campaign.
func (g *Generator) patchBid() Step {
	if g.Model.Level < command.LevelVersions {
		return g.bids()
	}
	g.seq++
	p := command.PatchBid{Bid: g.id('b', g.seq)}
	p.Campaign, p.Marketplace = g.campaign()
	if c := g.Model.campaign(p.Marketplace, p.Campaign); c != nil && len(c.Bids) > 0 && g.choose(6, "unknown bid") > 0 {
		p.Bid = c.Bids[g.choose(len(c.Bids), "which bid")].ID
	}
	switch g.choose(5, "member of a bid") {
	case 0:
		p.Amount = new(g.amount("bid"))
	case 1:
		p.Active, p.Amount = new(g.choose(2, "active") == 0), new(g.amount("bid"))
	case 2:
		p.Location = new(fmt.Sprint("l", g.choose(2, "location")))
	case 3:
		p.Triggers = &[]model.Trigger{{Kind: model.TriggerProduct, Value: fmt.Sprint("p", g.choose(3, "trigger"))}}
	case 4:
		p.Delete = true
	}
	s := Step{Name: "patch bid", Command: command.AppendPatchBid(nil, g.now, &p), Result: g.Model.PatchBid(&p)}
	return g.audit(g.notify(s, p.Marketplace, true), p.Marketplace, true)
}

func (g *Generator) bids() Step {
	p := command.PutBids{}
	p.Campaign, p.Marketplace = g.campaign()
	var known []model.Bid
	for _, c := range g.Model.Campaigns {
		for _, b := range c.Bids {
			known = append(known, *b)
		}
	}
	for range 1 + g.choose(3, "bids") {
		b := g.bid()
		if len(known) > 0 && g.choose(2, "known bid") == 0 {
			i := g.choose(len(known), "which bid")
			b.ID = known[i].ID
			known = slices.Delete(known, i, i+1)
			b.Deleted = g.choose(3, "delete") == 0
		}
		p.Bids = append(p.Bids, b)
	}
	before := g.Model.bids
	s := Step{Name: "bids", Command: command.AppendPutBids(nil, g.now, &p), Result: g.Model.PutBids(&p)}
	added := g.Model.bids > before
	return g.audit(g.notify(s, p.Marketplace, added), p.Marketplace, added)
}

func (g *Generator) advance() Step {
	p := command.Periods{Marketplace: g.market()}
	p.Day = uint32(g.now/(24*hourMillis)) - uint32(g.choose(2, "behind"))
	p.Week, p.Month = (p.Day+3)/7, p.Day/30 // A month begins with a day.
	a := command.Advance{Periods: []command.Periods{p}}
	g.Model.Advance(&a)
	return Step{Name: "advance", Command: command.AppendAdvance(nil, g.now, &a)}
}

func (g *Generator) marketplace() Step {
	x := model.Marketplace{Ordinal: g.market(), Name: "m", CurrencyCode: "USD", PostPaid: g.choose(4, "post") == 0}
	x.CarriesOver = g.Model.Level >= command.LevelPacing && g.choose(3, "carries over") > 0
	if g.Model.Level >= command.LevelAttribution {
		x.Attribution = model.Attribution(g.choose(model.Attributions, "attribution"))
	}
	if g.Model.Level >= command.LevelUsers {
		x.TouchDays = []uint8{0, 2, 16, 90}[g.choose(4, "touch days")]
	}
	x.ClickRules = g.clickRules()
	x.Experiment = g.experiment()
	x.EventDays = g.eventDays()
	if g.Model.Level >= command.LevelVersions && g.choose(2, "settings were read") == 0 {
		seen := model.Marketplace{Ordinal: x.Ordinal, Name: "m", CurrencyCode: "USD", PostPaid: g.choose(3, "were post") == 0}
		seen.CarriesOver = g.Model.Level >= command.LevelPacing && g.choose(3, "carried over") > 0
		if now := g.Model.Marketplaces[x.Ordinal]; now != nil {
			// The other settings differ often enough for conflicts.
			seen.Attribution, seen.TouchDays, seen.ClickRules, seen.Experiment = now.Attribution, now.TouchDays, now.ClickRules, now.Experiment
			seen.EventDays = now.EventDays
		}
		return Step{
			Name:    "replace marketplace",
			Command: command.AppendReplaceMarketplace(nil, g.now, &command.PutMarketplace{Marketplace: x, Expect: command.VersionOfMarketplace(&seen)}),
			Result:  g.Model.ReplaceMarketplace(x, seen),
		}
	}
	return Step{Name: "marketplace", Command: command.AppendPutMarketplace(nil, g.now, &x), Result: g.Model.Marketplace(x)}
}

// laterLevels is the number of levels after format 1.
const laterLevels = int(command.LevelNewest-command.LevelProducts) + 1

func (g *Generator) feature() Step {
	level := command.LevelFormat1
	if !g.Fixed {
		level = command.LevelProducts + command.Level(g.choose(laterLevels, "level")) // A handful.
	}
	return Step{Name: "feature", Command: command.AppendSetFeature(nil, g.now, command.SetFeature{Level: level}), Result: g.Model.Feature(level)}
}

func (g *Generator) records() Step {
	p := command.PutRecords{}
	for range 1 + g.choose(3, "records") {
		r := command.Record{
			Kind: command.RecordAPIKey, Marketplace: 1, ID: fmt.Sprint("k", g.choose(4, "record")), Expect: command.Any,
			Class: fmt.Sprint("c", g.choose(2, "class")), Max: g.choose(4, "max"), NotLast: g.choose(2, "not last") == 0,
		}
		if g.choose(3, "new") == 0 {
			r.Expect = 0
		}
		if g.choose(2, "expires") == 0 {
			r.ExpiresMillis = g.Model.Now + 1 + int64(g.choose(5_000, "after"))
		}
		if g.choose(3, "delete") > 0 {
			r.Value = fmt.Append(nil, "value ", g.choose(3, "value"))
		}
		p.Records = append(p.Records, r)
	}
	s := Step{Name: "records", Command: command.AppendPutRecords(nil, g.now, &p), Result: g.Model.PutRecords(&p)}
	return g.audit(s, 1, true)
}

func (g *Generator) categories() Step {
	p := command.PutCategories{Marketplace: g.market()}
	for range 1 + g.choose(3, "categories") {
		c := model.Category{ID: fmt.Sprint("c", g.choose(5, "category")), Name: "n", CreatedMillis: g.now, UpdatedMillis: g.now}
		if g.choose(3, "root") > 0 {
			c.ParentID = fmt.Sprint("c", g.choose(5, "parent"))
		}
		p.Categories = append(p.Categories, c)
	}
	return Step{Name: "categories", Command: command.AppendPutCategories(nil, g.now, &p), Result: g.Model.PutCategories(&p)}
}

func (g *Generator) products() Step {
	p := command.PutProducts{Marketplace: g.market()}
	for range 1 + g.choose(3, "products") {
		p.Products = append(p.Products, model.Product{
			ID: fmt.Sprint("p", g.choose(5, "product")), Name: "n", Vendors: []string{g.vendor()}, Categories: []string{"c1"},
			Active: true, Price: g.amount("price"), CreatedMillis: g.now, UpdatedMillis: g.now,
		})
	}
	s := Step{Name: "products", Command: command.AppendPutProducts(nil, g.now, &p), Result: g.Model.PutProducts(&p)}
	return g.audit(s, p.Marketplace, true)
}

func (g *Generator) patchProducts() Step {
	if g.Model.Level < command.LevelVersions {
		return g.products()
	}
	p := command.PatchProducts{Marketplace: g.market()}
	for range 1 + g.choose(2, "products") {
		x := command.ProductPatch{ID: fmt.Sprint("p", g.choose(5, "product"))}
		switch g.choose(3, "member of a product") {
		case 0:
			name := fmt.Sprint("n", g.choose(3, "name"))
			x.Name, x.Document = &name, []document.Member{{Name: "name", Value: strconv.AppendQuote(nil, name)}}
		case 1:
			x.Price = new(g.amount("price"))
		case 2:
			x.Vendors = &[]string{g.vendor()}
		}
		p.Products = append(p.Products, x)
	}
	return Step{Name: "patch products", Command: command.AppendPatchProducts(nil, g.now, &p), Result: g.Model.PatchProducts(&p)}
}

func (g *Generator) remove() Step {
	x := command.DeleteCatalog{
		Marketplace: g.market(), Products: []string{fmt.Sprint("p", g.choose(5, "product"))},
		Categories: []string{fmt.Sprint("c", g.choose(5, "category"))},
	}
	return Step{Name: "remove", Command: command.AppendDeleteCatalog(nil, g.now, &x), Result: g.Model.Delete(&x)}
}
