package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// The environments of these tests have four data groups and a meta group. Vendors v1, v2, ... lie in different ones.

func campaign(vendor, name string) *model.Campaign {
	return &model.Campaign{
		VendorID: vendor, Name: name, Type: "manual", Charge: model.CPC, Active: true, Status: model.Approved,
		Budget: 10 * money.PerMajor,
	}
}

func TestCampaignsOfAllGroupsAreListedNewestFirst(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	groups := map[ids.Group]bool{}
	var want []string
	for i := range 12 {
		c := campaign(fmt.Sprintf("v%d", i), fmt.Sprintf("c%d", i))
		if err := tenant.CreateCampaign(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
		groups[c.Group] = true
		want = append(want, c.Name)
		w.Advance(time.Second)
	}
	slices.Reverse(want)
	if len(groups) < 3 {
		t.Fatalf("12 vendors lie in %d groups; the test needs more", len(groups))
	}

	var got []string
	for offset := 0; ; offset += 5 {
		page, more, err := tenant.Campaigns(t.Context(), store.CampaignFilter{Offset: offset, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page {
			got = append(got, c.Name)
		}
		if !more {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	one, more, err := tenant.Campaigns(t.Context(), store.CampaignFilter{VendorID: "v3", Limit: 5})
	if err != nil || more || len(one) != 1 || one[0].Name != "c3" {
		t.Errorf("campaigns of v3: %v, %v, %v", one, more, err)
	}
}

func TestAnExternalIDIsTakenInAllGroups(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	for i := range 8 {
		c := campaign(fmt.Sprintf("v%d", i), "c")
		c.ExternalID = "x"
		err := tenant.CreateCampaign(t.Context(), c, nil)
		if want := i > 0; errors.Is(err, store.ErrAlreadyExists) != want {
			t.Errorf("vendor v%d: %v; taken should be %v", i, err, want)
		}
	}
}

func TestACampaignOfAnotherMarketplaceIsNotThere(t *testing.T) {
	w := managetest.New(t)
	c := campaign("v1", "c")
	bids := []model.Bid{{Target: "p", Amount: 5, Active: true}}
	if err := w.Store.Tenant(managetest.Main).CreateCampaign(t.Context(), c, bids); err != nil {
		t.Fatal(err)
	}
	other := w.Store.Tenant(managetest.Other)
	_, byID := other.Campaign(t.Context(), c.ID)
	_, _, bidsOf := other.Bids(t.Context(), c.ID, 0, 5)
	_, bid := other.Bid(t.Context(), c.ID, bids[0].ID)
	_, report := other.CampaignReport(t.Context(), c.ID, store.Dates{From: "2026-03-17", To: "2026-03-17"})
	for what, err := range map[string]error{
		"read": byID, "bids": bidsOf, "bid": bid, "report": report,
		"patch": other.PatchCampaign(t.Context(), &command.PatchCampaign{Campaign: c.ID, Name: new("stolen")}),
		"add":   other.AddBids(t.Context(), c.ID, []model.Bid{{Target: "p", Amount: 5}}),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", what, err)
		}
	}
}

func TestPagesOfNamedIDs(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	var all []model.Product
	for i := range 5 {
		all = append(all, model.Product{ID: fmt.Sprintf("p%d", i), Name: "n", Vendors: []string{fmt.Sprintf("v%d", i%2)}, Active: true})
	}
	if err := tenant.PutProducts(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	asked := []string{"p4", "p0", "p0", "gone", "gone too", "lost", "p2", "p1", "void"}
	var got []string
	for after := ""; ; {
		page, more, err := tenant.Products(t.Context(), store.Page{After: after, Limit: 2}, asked, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page {
			got = append(got, p.ID)
		}
		if !more {
			break
		}
		if len(page) == 0 {
			t.Fatal("a page without items that more follow cannot be continued")
		}
		after = page[len(page)-1].ID
	}
	if want := []string{"p0", "p1", "p2", "p4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	ofVendor, _, err := tenant.Products(t.Context(), store.Page{Limit: 5}, asked, "v0")
	if err != nil || len(ofVendor) != 3 {
		t.Errorf("products of v0 among the asked: %v, %v", ofVendor, err)
	}
}

func TestTheDefaultWalletIsListedBeforeItsFirstDeposit(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	for _, want := range []money.Micros{0, 7 * money.PerMajor} {
		wallets, err := tenant.Wallets(t.Context(), "v1")
		if err != nil || len(wallets) != 1 || !wallets[0].Default || wallets[0].Balance != want ||
			wallets[0].ID != ids.DefaultWalletOf(managetest.Main, "v1") {
			t.Errorf("got %+v, %v; want the default wallet with %d", wallets, err, want)
		}
		if _, err := tenant.Adjust(t.Context(), "v1", ids.UUID{}, 7*money.PerMajor, false, "deposit"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tenant.Adjust(t.Context(), "v1", ids.UUID{}, -15*money.PerMajor, true, "burn"); !errors.Is(err, store.ErrInsufficientBalance) {
		t.Errorf("burning more than there is: %v", err)
	}
	if _, err := tenant.Adjust(t.Context(), "v1", ids.UUID{0: 1, 15: ids.DefaultWalletOf(managetest.Main, "v1")[15]}, 5, false, "d"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("paying into an unknown wallet: %v", err)
	}
}

func TestKeysAreBoundedAndTheLastManagementKeyStays(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Other)
	before, err := tenant.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have := 0
	for _, k := range before {
		if k.Kind == store.ManagementKey {
			have++
			err = errors.Join(err, tenant.RevokeKey(t.Context(), k.ID))
		}
	}
	if have != 1 || !errors.Is(err, store.ErrWrongState) {
		t.Fatalf("revoking the only one of %d management keys: %v", have, err)
	}
	for i := have; i < store.KeysMax; i++ {
		if _, _, err := tenant.CreateKey(t.Context(), store.ManagementKey, "k", 0); err != nil {
			t.Fatalf("key %d: %v", i, err)
		}
	}
	if _, _, err := tenant.CreateKey(t.Context(), store.ManagementKey, "k", 0); !errors.Is(err, store.ErrTooMany) {
		t.Errorf("key %d: %v, want ErrTooMany", store.KeysMax+1, err)
	}
	if err := tenant.RevokeKey(t.Context(), before[0].ID); err != nil {
		t.Errorf("revoking one of many: %v", err)
	}
	if err := tenant.RevokeKey(t.Context(), before[0].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoking it again: %v, want ErrNotFound", err)
	}
}

// TestReportsCutDaysInTheMarketplacesZone: days of a report are days in the marketplace's time zone, not in UTC.
func TestReportsCutDaysInTheMarketplacesZone(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	m := tenant.Settings()
	m.TimeZone = "Asia/Kolkata" // UTC+5:30, so that local hours begin at half past.
	m.UpdatedMillis++
	propose(t, w, command.AppendPutMarketplace(nil, w.Now().UnixMilli(), &m), w.Store.Groups.Meta())

	c := campaign("v1", "c")
	if err := tenant.CreateCampaign(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	for i, at := range []string{"2026-03-16T18:29:59Z", "2026-03-16T18:30:00Z", "2026-03-17T08:00:00Z"} {
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		zone := tenant.Location()
		_, offset := when.In(zone).Zone()
		local := when.Unix() + int64(offset)
		record := command.EventRecord{
			Key: [16]byte{byte(i + 1)}, Kind: event.Impression, Bucket: uint32(when.Unix() / 3600), OccurredMillis: when.UnixMilli(),
			Cell: uint32((when.Unix() - local%3600) / rollup.CellSeconds), ExternalCampaign: c.ID,
		}
		e := command.Events{Marketplace: managetest.Main, Records: []command.EventRecord{record}}
		// The report finds such an event in any group.
		group := w.Store.Groups.GroupOf(ids.Shard(i))
		propose(t, w, command.AppendEvents(nil, w.Now().UnixMilli(), &e), group)
	}
	days, err := tenant.CampaignRows(t.Context(), c.ID, store.Dates{From: "2026-03-01", To: "2026-03-31"}, store.Daily)
	if err != nil || len(days) != 2 || days[0].Date != "2026-03-16" || days[0].Impressions != 1 ||
		days[1].Date != "2026-03-17" || days[1].Impressions != 2 {
		t.Errorf("days: %+v, %v", days, err)
	}
	sum, err := tenant.CampaignReport(t.Context(), c.ID, store.Dates{From: "2026-03-17", To: "2026-03-17"})
	if err != nil || sum.Impressions != 2 {
		t.Errorf("the 17th: %+v, %v", sum, err)
	}
	if lag := w.Now().Sub(tenant.CompleteThrough()); math.Abs(lag.Seconds()) > 2 {
		t.Errorf("complete through %s ago", lag)
	}
}

func propose(t *testing.T, w *managetest.Environment, cmd []byte, g ids.Group) {
	t.Helper()
	if _, _, err := w.Store.Groups.ProposeAt(t.Context(), g, cmd); err != nil {
		t.Fatal(err)
	}
}
