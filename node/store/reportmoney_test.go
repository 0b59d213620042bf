package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// spentOf is the money of a report.
type spentOf struct{ Impressions, Clicks, Overdelivery money.Micros }

func (s *spentOf) add(c *rollup.Counters) {
	s.Impressions += c.SpentImpressions
	s.Clicks += c.SpentClicks
	s.Overdelivery += c.Overdelivery
}

// TestEveryReportIsTheJournal: after random charges, repeats and charges beyond budgets and wallets, every report has the
// money of the journal, to the micro, and so have the wallets: by campaign, bid, vendor, product, day, hour and in all.
func TestEveryReportIsTheJournal(t *testing.T) {
	const vendors, products = 5, 3
	w := managetest.New(t)
	tenant, groups := w.Store.Tenant(managetest.Main), w.Store.Groups
	random := rand.New(rand.NewPCG(3, 3))
	var campaigns []*model.Campaign
	var stock []model.Product
	for i := range products {
		stock = append(stock, model.Product{ID: fmt.Sprint("p", i), Name: "n", Vendors: []string{"v0"}})
	}
	if err := tenant.PutProducts(t.Context(), stock); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * vendors {
		c := campaign(fmt.Sprintf("v%d", i%vendors), "c")
		c.Budget = 40_000
		var bids []model.Bid
		for p := range products {
			bids = append(bids, model.Bid{Target: fmt.Sprint("p", p), Amount: 1_000, Active: true})
		}
		if err := tenant.CreateCampaign(t.Context(), c, bids); err != nil {
			t.Fatal(err)
		}
		campaigns = append(campaigns, c)
	}
	deposited := map[string]money.Micros{}
	for i := range vendors {
		vendor := fmt.Sprint("v", i)
		deposited[vendor] = money.Micros(20_000 * (i + 1))
		if _, err := tenant.Adjust(t.Context(), vendor, ids.UUID{}, deposited[vendor], false, ""); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 1_500 {
		c := campaigns[random.IntN(len(campaigns))]
		ordinal, bid := ordinalsOf(t, groups, c)
		r := command.EventRecord{
			Key: [16]byte{1, byte(n), byte(n >> 8)}, ChargeKey: [16]byte{2, byte(random.IntN(200)), byte(random.IntN(3))}, Kind: event.Click, Charge: model.CPC,
			OccurredMillis: w.Now().UnixMilli() - int64(random.IntN(50))*3_600_000, Campaign: ordinal, Bid: bid + uint32(random.IntN(products)),
			Price: money.Micros(1 + random.IntN(900)),
		}
		if random.IntN(2) == 0 {
			r.Kind, r.Charge = event.Impression, model.CPM
		}
		r.Bucket, r.Cell = event.BucketOf(w.Now().UnixMilli()), uint32(r.OccurredMillis/3_600_000*4)
		events := command.AppendEvents(nil, w.Now().UnixMilli(), &command.Events{Marketplace: managetest.Main, Records: []command.EventRecord{r}})
		for range 1 + random.IntN(2) {
			propose(t, w, events, c.Group)
		}
	}

	var journal, byCampaign, byDay, byBid, byVendor, byProduct, byHour, whole spentOf
	for _, g := range groups.Groups() {
		if err := groups.Read(g, func(r shard.Reader) error {
			shard.Queries{R: r}.Journal(0, func(l *ledger.Line) bool {
				if l.Kind == ledger.ClickCharge {
					journal.Clicks += l.Amount
					journal.Overdelivery += l.Price - l.Amount
				}
				if l.Kind == ledger.ImpressionCharge {
					journal.Impressions += l.Amount
					journal.Overdelivery += l.Price - l.Amount
				}
				return true
			})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if journal.Clicks == 0 || journal.Impressions == 0 || journal.Overdelivery == 0 {
		t.Fatalf("the journal has %+v", journal)
	}

	d := store.Dates{From: "2026-03-14", To: "2026-03-18"}
	for _, c := range campaigns {
		sum, err := tenant.CampaignReport(t.Context(), c.ID, d)
		days, err2 := tenant.CampaignRows(t.Context(), c.ID, d, store.Daily)
		bids, err3 := tenant.CampaignProducts(t.Context(), c.ID, d)
		if err != nil || err2 != nil || err3 != nil {
			t.Fatal(err, err2, err3)
		}
		byCampaign.add(&sum)
		for i := range days {
			byDay.add(&days[i].Counters)
		}
		for i := range bids {
			byBid.add(&bids[i].Counters)
		}
	}
	for i := range vendors {
		vendor := fmt.Sprint("v", i)
		sum := sumOf(tenant.VendorCounters(t.Context(), vendor, d, store.Whole))
		byVendor.add(&sum)
		all, err := tenant.Wallets(t.Context(), vendor)
		if spent := sum.SpentImpressions + sum.SpentClicks; err != nil || deposited[vendor]-all[0].Balance != spent || all[0].Spent != spent {
			t.Errorf("%s: %d was deposited, %d is left, %d was spent (%v); its report says %d", vendor, deposited[vendor], all[0].Balance, all[0].Spent, err, spent)
		}
	}
	for i := range products {
		sum := sumOf(tenant.ProductCounters(t.Context(), fmt.Sprint("p", i), d, store.Daily))
		byProduct.add(&sum)
	}
	for _, line := range pages(t, tenant, store.Interactions{From: w.Now().AddDate(0, 0, -5), To: w.Now().Add(time.Hour), By: store.ByCampaign, Hourly: true}, 100) {
		byHour.add(&line.Counters)
	}
	total := sumOf(tenant.MarketplaceCounters(t.Context(), d, store.Daily, false))
	whole.add(&total)
	for what, got := range map[string]spentOf{
		"campaigns": byCampaign, "days": byDay, "bids": byBid, "vendors": byVendor, "products": byProduct, "hours": byHour, "marketplace": whole,
	} {
		if got != journal {
			t.Errorf("%s: %+v, the journal has %+v", what, got, journal)
		}
	}
}

// ordinalsOf returns the ordinals of a campaign and of its first bid.
func ordinalsOf(t *testing.T, groups store.Groups, c *model.Campaign) (campaign, bid uint32) {
	t.Helper()
	if err := groups.Read(c.Group, func(r shard.Reader) error {
		q := shard.Queries{R: r}
		state, _ := q.Campaign(c.ID)
		bids, _ := q.Bids(state.Ordinal, 0, 1)
		campaign, bid = state.Ordinal, bids[0].Ordinal
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return campaign, bid
}
