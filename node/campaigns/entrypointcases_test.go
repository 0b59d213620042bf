package campaigns_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

const accepted = "accepted"

// entryCase is one campaign body, or one change of a campaign, with what every entry point has to say to it.
type entryCase struct {
	name    string
	creates bool
	set     members
	// want is accepted, an errCode, or the type of a violation and the member that it is about.
	want string

	bids   int                   // Number of bids on different products; 0 stands for 1, and none for none.
	vendor string                // Whose campaign it is, instead of the vendor that there is.
	absent bool                  // The change names a campaign that does not exist.
	shape  func(*model.Campaign) // Changes the campaign that is there before a change.
	before func(t *testing.T, w *managetest.Environment, seller string)
	not    map[string]string // Entry points that cannot express the case although they have the members, with the reason.
}

const none = -1

func (c *entryCase) bidCount() int {
	switch c.bids {
	case 0:
		return 1
	case none:
		return 0
	}
	return c.bids
}

func create(name string, set members, want string) entryCase {
	return entryCase{name: "create, " + name, creates: true, set: set, want: want}
}

func change(name string, set members, want string) entryCase {
	return entryCase{name: "change, " + name, set: set, want: want}
}

// These make a case another one.

func (c entryCase) in(shape func(*model.Campaign)) entryCase { c.shape = shape; return c }
func (c entryCase) of(vendor string) entryCase               { c.vendor = vendor; return c }
func (c entryCase) with(bids int) entryCase                  { c.bids = bids; return c }

func (c entryCase) after(before func(t *testing.T, w *managetest.Environment, seller string)) entryCase {
	c.before = before
	return c
}

func (c entryCase) butNot(entryPoint, reason string) entryCase {
	if c.not == nil {
		c.not = map[string]string{}
	}
	c.not[entryPoint] = reason
	return c
}

const (
	noTotal    = "its budgets have a period"
	needsStart = "its campaigns need a start"
)

func entryCases() []entryCase {
	return append(append(createCases(), changeCases()...), vendorCases()...)
}

func createCases() []entryCase {
	text255, text256 := `"`+strings.Repeat("n", 255)+`"`, `"`+strings.Repeat("n", 256)+`"`
	return []entryCase{
		create("plain", nil, accepted),

		create("daily", members{"period": `"daily"`}, accepted),
		create("weekly", members{"period": `"weekly"`}, accepted),
		create("monthly", members{"period": `"monthly"`}, accepted),
		create("total", members{"period": `"total"`}, accepted).butNot("dialog", noTotal),
		create("period of another word", members{"period": `"yearly"`}, "enum period"),
		create("period null", members{"period": "null"}, accepted),

		create("smallest budget", members{"budget": "1"}, accepted),
		create("largest budget", members{"budget": "20000000000"}, accepted),
		create("budget zero", members{"budget": "0"}, "greater_than_equal budget"),
		create("budget negative", members{"budget": "-1"}, "greater_than_equal budget"),
		create("budget too large", members{"budget": "20000000001"}, "less_than_equal budget"),
		create("budget beyond integers", members{"budget": "99999999999999999999"}, "less_than_equal budget"),
		create("budget of a fraction", members{"budget": "1.5"}, "int_type budget"),
		create("budget of a text", members{"budget": `"1000"`}, "int_type budget"),
		create("budget missing", members{"budget": "-", "period": `"daily"`}, "missing budget"),

		create("spread evenly", members{"period": `"total"`, "pacing": `"even"`, "end": `"2026-05-01T00:00:00Z"`}, accepted),
		create("spread evenly without an end", members{"period": `"total"`, "pacing": `"even"`}, "value_error pacing"),
		create("a day spread evenly", members{"pacing": `"even"`, "end": `"2026-05-01T00:00:00Z"`}, "value_error pacing"),
		create("as soon as possible", members{"period": `"total"`, "pacing": `"asap"`}, accepted),
		create("a month as soon as possible", members{"period": `"monthly"`, "pacing": `"asap"`}, "value_error pacing"),
		create("pacing of another word", members{"period": `"total"`, "pacing": `"slow"`}, "enum pacing"),
		create("pacing null", members{"pacing": "null"}, accepted),

		create("end after start", members{"end": `"2026-05-01T00:00:00Z"`}, accepted),
		create("end null", members{"end": "null"}, accepted),
		create("end before start", members{"end": `"2026-03-31T23:59:59Z"`}, "value_error end"),
		create("end in 1970", members{"end": `"1970-01-01T00:00:00Z"`}, "value_error end"),
		create("end at start", members{"end": `"2026-04-01T00:00:00Z"`}, "value_error end"),
		create("end before now", members{"start": "-", "end": `"2026-03-17T09:29:59Z"`}, "value_error end").butNot("agency", needsStart),
		create("start now", members{"start": "-"}, accepted).butNot("agency", needsStart),
		create("start is no date", members{"start": `"tomorrow"`}, "datetime_parsing start"),
		create("end is no date", members{"end": `"2026-02-30T00:00:00Z"`}, "datetime_parsing end"),

		create("name empty", members{"name": `""`}, "string_too_short name"),
		create("name missing", members{"name": "-"}, "missing name"),
		create("name too long", members{"name": text256}, "string_too_long name"),
		create("name of 255", members{"name": text255}, accepted).butNot("agency", "its names have at most 75 characters"),

		create("target of another kind", members{"targetType": `"planet"`}, "enum targetType"),
		create("target missing", members{"target": "-"}, "missing target"),
		create("target empty", members{"target": `""`}, "string_too_short target"),
		create("no bids", nil, "too_short list").with(none),
		create("500 bids", nil, accepted).with(500),
		create("501 bids", nil, "too_long list").with(501),

		create("largest bid", members{"amount": "20000000000"}, accepted),
		create("bid zero", members{"amount": "0"}, "greater_than_equal amount"),
		create("bid negative", members{"amount": "-5"}, "greater_than_equal amount"),
		create("bid too large", members{"amount": "20000000001"}, "less_than_equal amount"),

		create("return largest", members{"roas": "20"}, accepted),
		create("return too small", members{"roas": "0.4"}, "greater_than_equal roas"),
		create("return too large", members{"roas": "20.5"}, "less_than_equal roas"),
		create("return of four decimals", members{"roas": "2.0001"}, "value_error roas"),

		create("paid by impressions", members{"charge": `"CPM"`}, accepted),
		create("paid by purchases", members{"charge": `"CPA"`, "period": `"total"`}, accepted),
		create("paid by purchases without an end of the budget", members{"charge": `"CPA"`}, "value_error period"),
		create("paid by another word", members{"charge": `"CPX"`}, "enum charge"),
		create("status pending", members{"status": `"pending"`}, accepted),
		create("status terminated", members{"status": `"terminated"`}, "enum status"),
		create("switched off", members{"active": "false"}, accepted),
		create("wallet of nobody", members{"wallet": `"00000000-0000-7000-8000-000000000001"`}, "resource_not_found"),

		create("exclusive", members{"type": `"exclusive"`}, accepted),
		create("exclusive, own price", members{"type": `"exclusive"`, "price": `"first"`}, accepted),
		create("exclusive, second price", members{"type": `"exclusive"`, "price": `"second"`}, "value_error price"),
		create("exclusive beside another", members{"type": `"exclusive"`}, "already_exists").after(sponsored(nil)),
		create("exclusive after another", members{"type": `"exclusive"`, "start": `"2026-06-17T09:30:00Z"`}, accepted).after(sponsored(nil)),
		create("exclusive beside a rejected one", members{"type": `"exclusive"`}, accepted).after(sponsored(rejected)),
		create("manual beside an exclusive one", nil, accepted).after(sponsored(nil)),

		create("more campaigns than the vendor may have", nil, "limit_exceeded").after(limited(store.Limits{VendorCampaigns: 1})),
		create("more campaigns than the marketplace may have", nil, "limit_exceeded").after(limited(store.Limits{Campaigns: 1})),
		create("more bids than the vendor may have", nil, "limit_exceeded").with(3).after(limited(store.Limits{VendorBids: 3})),
	}
}

func changeCases() []entryCase {
	noBudget := func(c *model.Campaign) { c.Budget = 0 }
	total := func(c *model.Campaign) { c.Period = model.Total }
	endless := func(c *model.Campaign) { c.Period, c.EndMillis = model.Total, 0 }
	even := func(c *model.Campaign) { c.Period, c.Pacing = model.Total, model.PacingEven }
	exclusive := func(c *model.Campaign) { c.Type = model.Exclusive }
	later := func(c *model.Campaign) { c.Type, c.StartMillis, c.EndMillis = model.Exclusive, c.EndMillis, 0 }
	outside := func(c *model.Campaign) { c.Type, c.Status = model.Exclusive, model.Rejected }
	purchases := func(c *model.Campaign) { c.Charge, c.Period = model.CPA, model.Total }
	terminated := func(t *testing.T, w *managetest.Environment, seller string) {
		st := w.Store.Tenant(managetest.Main)
		for _, c := range state(t, w, seller) {
			if err := st.PatchCampaign(t.Context(), &command.PatchCampaign{Campaign: c.ID, Status: new(model.Terminated)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := "what is deleted does not exist for it"
	unknown := change("of a campaign that there is not", members{"name": `"D"`}, "resource_not_found")
	unknown.absent = true
	return []entryCase{
		change("name", members{"name": `"D"`}, accepted),
		change("name too long", members{"name": `"` + strings.Repeat("n", 256) + `"`}, "string_too_long name"),

		change("budget", members{"budget": "5"}, accepted),
		change("budget null", members{"budget": "null"}, accepted),
		change("budget zero", members{"budget": "0"}, "greater_than_equal budget"),
		change("budget negative", members{"budget": "-1"}, "greater_than_equal budget"),
		change("budget too large", members{"budget": "20000000001"}, "less_than_equal budget"),
		change("period weekly", members{"period": `"weekly"`}, accepted),
		change("period total", members{"period": `"total"`}, accepted).butNot("dialog", noTotal),
		change("period of another word", members{"period": `"yearly"`}, "enum period"),
		change("a budget where there is none", members{"budget": "5", "period": `"weekly"`}, accepted).in(noBudget),
		change("a period where there is no budget", members{"period": `"weekly"`}, "missing budget").in(noBudget),

		change("spread evenly", members{"pacing": `"even"`}, accepted).in(total),
		change("spread evenly with a total", members{"pacing": `"even"`, "period": `"total"`}, accepted),
		change("spread evenly without an end", members{"pacing": `"even"`}, "value_error pacing").in(endless),
		change("spread evenly until an end", members{"pacing": `"even"`, "end": `"2026-05-01T00:00:00Z"`}, accepted).in(endless),
		change("a day spread evenly", members{"pacing": `"even"`}, "value_error pacing"),
		change("even to a day", members{"period": `"daily"`}, accepted).in(even),
		change("even to a day spread evenly", members{"period": `"daily"`, "pacing": `"even"`}, "value_error pacing").in(even),
		change("even to as soon as possible", members{"pacing": `"asap"`}, accepted).in(even),
		change("even, another end", members{"end": `"2026-05-01T00:00:00Z"`}, accepted).in(even),
		change("pacing where there is no budget", members{"pacing": `"even"`}, "value_error pacing").in(noBudget),

		change("end", members{"end": `"2026-05-01T00:00:00Z"`}, accepted),
		change("end before start", members{"end": `"2026-03-16T00:00:00Z"`}, "value_error end"),
		change("end in 1970", members{"end": `"1970-01-01T00:00:00Z"`}, "value_error end"),
		change("start after end", members{"start": `"2026-07-01T00:00:00Z"`}, "value_error start after end"),
		change("start and end", members{"start": `"2026-07-01T00:00:00Z"`, "end": `"2026-08-01T00:00:00Z"`}, accepted),

		change("pause", members{"active": "false"}, accepted),
		change("activate", members{"active": "true"}, accepted).in(func(c *model.Campaign) { c.Active = false }),
		change("return of four decimals", members{"roas": "2.0001"}, "value_error roas"),
		change("second price", members{"price": `"second"`}, accepted),
		change("exclusive, second price", members{"price": `"second"`}, "value_error price").in(exclusive),
		change("exclusive, into the time of another", members{"start": `"2026-03-18T00:00:00Z"`}, "already_exists").in(later).after(sponsored(nil)),
		change("exclusive, end in the time of another", members{"end": `"2026-10-01T00:00:00Z"`}, accepted).in(later).after(sponsored(nil)),
		change("exclusive, approved beside another", members{"status": `"approved"`}, "already_exists").in(outside).after(sponsored(nil)),
		change("exclusive, name beside another", members{"name": `"D"`}, accepted).in(outside).after(sponsored(nil)),
		change("status rejected", members{"status": `"rejected"`}, accepted),
		change("status back to pending", members{"status": `"pending"`}, "invalid_operation"),
		change("status terminated", members{"status": `"terminated"`}, "enum status"),
		change("wallet of nobody", members{"wallet": `"00000000-0000-7000-8000-000000000001"`}, "resource_not_found"),
		unknown,
		change("of what is terminated", members{"name": `"D"`}, "invalid_operation").after(terminated).butNot("agency", gone).butNot("dialog", gone),
		change("of what is deleted", members{"name": `"D"`}, "resource_not_found").after(terminated).butNot("campaign-service", "it shows terminated campaigns"),

		change("of purchases, to a day", members{"period": `"daily"`}, "value_error period").in(purchases),
		change("of purchases, to a month with another amount", members{"budget": "9", "period": `"monthly"`}, "value_error period").in(purchases),
		change("of purchases, more budget", members{"budget": "5000"}, accepted).in(purchases),
		change("of purchases, name", members{"name": `"D"`}, accepted).in(purchases),
	}
}

func vendorCases() []entryCase {
	back := func(t *testing.T, w *managetest.Environment, seller string) {
		deleted(t, w, seller)
		stock(t, w, "management", seller, 1)
	}
	return []entryCase{
		create("unknown vendor", nil, "invalid_vendor").of("unknown"),
		create("vendor of another marketplace", nil, "invalid_vendor").of("foreign"),
		create("deleted vendor", nil, "invalid_vendor").after(deleted),
		create("vendor that is back", nil, accepted).after(back),

		change("deleted vendor, activate", members{"active": "true"}, "invalid_operation").after(deleted),
		change("deleted vendor, activate with a name", members{"name": `"D"`, "active": "true"}, "invalid_operation").after(deleted),
		change("deleted vendor, pause", members{"active": "false"}, accepted).after(deleted),
		change("deleted vendor, name", members{"name": `"D"`}, accepted).after(deleted),
		change("vendor that is back, activate", members{"active": "true"}, accepted).after(back),
	}
}

func rejected(c *model.Campaign) { c.Status = model.Rejected }

// sponsored makes an exclusive campaign until June for the product of the case, of another vendor, whose group need
// not be the same.
func sponsored(shape func(*model.Campaign)) func(*testing.T, *managetest.Environment, string) {
	return func(t *testing.T, w *managetest.Environment, seller string) {
		t.Helper()
		x := model.Campaign{
			VendorID: seller + "-rival", Name: "S", Type: model.Exclusive, Charge: model.CPC, Active: true, Status: model.Approved,
			StartMillis: managetest.Start.UnixMilli(), EndMillis: managetest.Start.AddDate(0, 3, 0).UnixMilli(),
		}
		if shape != nil {
			shape(&x)
		}
		bids := []model.Bid{{Target: seller + "-0", Amount: 1, Active: true}}
		if err := w.Store.Tenant(managetest.Main).CreateCampaign(t.Context(), &x, bids); err != nil {
			t.Fatal(err)
		}
	}
}

func deleted(t *testing.T, w *managetest.Environment, seller string) {
	t.Helper()
	if rec := call(w, "DELETE", vendors+"?ids="+seller, "management", ""); rec.Code != http.StatusOK {
		t.Fatal(rec.Code, rec.Body)
	}
}

// limited sets limits, and makes a campaign with a bid, which counts.
func limited(l store.Limits) func(*testing.T, *managetest.Environment, string) {
	return func(t *testing.T, w *managetest.Environment, seller string) {
		t.Helper()
		new(entryCase).campaign(t, w, seller)
		w.Store.Limits = l
	}
}
