package serving_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// TestKindsOfAuctions checks that the three operations on auctions answer with their own result types, and that each refuses
// the bodies of the others.
func TestKindsOfAuctions(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10, Kinds: true})
	banners := fmt.Sprintf(`{"auctions":[{"type":"banners","slots":2,"slotId":%q}]}`, servingtest.Slot)
	brands := fmt.Sprintf(`{"auctions":[{"winners":2,"placementId":%q,"triggers":{"searchQuery":"q"}}]}`, servingtest.Placement)
	hotels := fmt.Sprintf(`{"auctions":[{"type":"hotels","slots":2,"travelContext":{"site":%q}}]}`, servingtest.Site)
	flights := `{"auctions":[{"type":"flights","slots":2,"travelContext":{"site":"x"},"products":[{"id":"flight-3","variationID":"v"}]}]}`
	for _, x := range []struct {
		path, body, want string
		status           int
	}{
		{"/v2/auctions", banners, `"resultType":"banners","winners":[{"rank":1,"type":"url","id":"https://shop.example/?c=`, 201},
		{"/v2/auctions", banners, `"asset":[{"url":"https://cdn.example/`, 201},
		{"/v2/auctions", banners, `,"content":{"headline":"h"}}]}`, 201},
		{"/v2/auctions/sponsored-brand", brands, `"resultType":"brand","winners":[{"rank":1,"type":"product","id":"brand-59"`, 201},
		{"/v2/auctions/sponsored-brand", brands, `"productIds":["hotel-0","hotel-1"],"title":"Spring","content":{"headline":"h"}}`, 201},
		{"/v2/auctions/travel", hotels, `"resultType":"hotels","winners":[{"rank":1,"type":"product","id":"hotel-199"`, 201},
		{"/v2/auctions/travel", flights, `"resultType":"flights","winners":[{"rank":1,"type":"product","id":"flight-3"`, 201},
		{"/v2/auctions/travel", flights, `"variationID":"v"}]`, 201},
		{"/v2/auctions", hotels, `"errCode":"invalid_promotion_type"`, 400},
		{"/v2/auctions/sponsored-brand", banners, `"errCode":"missing_slots"`, 400},
		{"/v2/auctions/travel", brands, `"errCode":"invalid_travel_type"`, 400},
	} {
		a := ask(node.Core, "POST", x.path, node.AuctionKey, x.body)
		if a.status != x.status || !strings.Contains(a.body, x.want) {
			t.Errorf("%s %s: %d %s\nwant %d and %s", x.path, x.body, a.status, a.body, x.status, x.want)
		}
	}
}

// TestUsersOfAuctionsAreThoseOfEvents checks that an auction and an event hash a user alike, so that caps and segments
// apply to that user.
func TestUsersOfAuctionsAreThoseOfEvents(t *testing.T) {
	node := servingtest.New(servingtest.Spec{})
	a := ask(node.Core, "POST", "/v2/events", node.AuctionKey,
		fmt.Sprintf(`{"clicks":[{"id":"c","occurredAt":%q,"opaqueUserId":"ann"}]}`, time.UnixMilli(servingtest.NowMillis).UTC().Format(time.RFC3339)))
	records := node.Proposer.Records()
	if a.status != 200 || len(records) != 1 {
		t.Fatalf("%d %s, %d records", a.status, a.body, len(records))
	}
	secret := node.Deps.Secret()
	if user := serving.UserHash(secret, servingtest.Marketplace, []byte("ann")); user != records[0].UserHash {
		t.Fatalf("the event has user %x, UserHash gives %x", records[0].UserHash, user)
	}
	capped := &model.Campaign{
		ID: ids.UUID{14: 9}, Ordinal: 9, Group: 1, Marketplace: servingtest.Marketplace, VendorID: "v", Charge: model.CPC, Active: true,
		Status: model.Approved, Caps: []model.Cap{{Type: 1, Limit: 1}},
	}
	slot := node.Market.PutCampaign(capped)
	slot.BudgetLeft.Store(1 << 40)
	slot.WalletBalance.Store(1 << 40)
	node.Market.PutProduct(servingtest.Marketplace, &model.Product{ID: "p", Active: true, Quality: model.QualityOne})
	node.Market.PutBid(capped, &model.Bid{Ordinal: 1, Target: "p", Active: true, Amount: 1_000_000})
	node.Market.Publish()

	wins := func(user string) bool {
		t.Helper()
		a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey,
			`{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}},{"type":"listings","slots":1,"products":{"ids":["p"]},"opaqueUserId":`+user+`}]}`)
		if a.status != 201 || strings.Count(a.body, "resolvedBidId") == 0 {
			t.Fatalf("%d %s: the auction without a user has no cap", a.status, a.body)
		}
		return strings.Count(a.body, "resolvedBidId") == 2
	}
	if !wins(`"ann"`) || !wins(`"bob"`) {
		t.Fatal("a user is capped before the first exposure")
	}
	day := uint32(servingtest.NowMillis / 86_400_000)
	node.Market.RecordExposure(capped, &market.Exposure{User: records[0].UserHash, Interaction: model.CapImpressions, Day: day})
	if wins(`"ann"`) {
		t.Error("the cap does not stop ann")
	}
	if wins(`"\u0061nn"`) {
		t.Error("the cap does not stop ann when her id has an escape")
	}
	if !wins(`"bob"`) {
		t.Error("ann's cap stops bob")
	}
}

// TestSchedulesFollowTheTimeZone checks that a campaign's schedule is in the marketplace's time zone.
func TestSchedulesFollowTheTimeZone(t *testing.T) {
	node := servingtest.New(servingtest.Spec{})
	zone := time.FixedZone("half past", 5*3600+1800)
	node.Deps.Location = func(uint16) *time.Location { return zone }
	node.Market.PutMarketplace(&model.Marketplace{Ordinal: servingtest.Marketplace, CurrencyCode: "INR", CurrencyExponent: 2, TimeZone: "Asia/Kolkata"})
	core := serving.New(node.Deps)
	local := time.UnixMilli(servingtest.NowMillis).In(zone)
	hour := (int(local.Weekday())+6)%7*24 + local.Hour()
	for i, want := range []int{1, 0} {
		schedule := make([]uint16, model.ScheduleHours)
		schedule[(hour+i)%model.ScheduleHours] = model.ScheduleOne
		c := &model.Campaign{
			ID: ids.UUID{14: 9}, Ordinal: 9, Group: 1, Marketplace: servingtest.Marketplace, VendorID: "v", Charge: model.CPC, Active: true,
			Status: model.Approved, Schedule: schedule,
		}
		slot := node.Market.PutCampaign(c)
		slot.BudgetLeft.Store(1 << 40)
		slot.WalletBalance.Store(1 << 40)
		node.Market.PutProduct(servingtest.Marketplace, &model.Product{ID: "p", Active: true, Quality: model.QualityOne})
		node.Market.PutBid(c, &model.Bid{Ordinal: 1, Target: "p", Active: true, Amount: 1_000_000})
		node.Market.Publish()
		a := ask(core, "POST", "/v2/auctions", node.AuctionKey, `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`)
		if got := strings.Count(a.body, "resolvedBidId"); a.status != 201 || got != want {
			t.Errorf("scheduled %d hours from now: %d winners, want %d: %s", i, got, want, a.body)
		}
	}
}

// TestLocationsAreCellsInH3Mode checks that in H3 mode a location must be an H3 cell.
func TestLocationsAreCellsInH3Mode(t *testing.T) {
	node := servingtest.New(servingtest.Spec{})
	body := `{"auctions":[{"type":"listings","slots":1,"category":"c","geoTargeting":"Berlin"}]}`
	if a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, body); a.status != 201 {
		t.Errorf("label mode: %d %s", a.status, a.body)
	}
	node.Market.PutMarketplace(&model.Marketplace{Ordinal: servingtest.Marketplace, CurrencyCode: "EUR", H3: true})
	node.Market.Publish()
	if a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, body); a.status != 400 || !strings.Contains(a.body, "invalid_location_cell") {
		t.Errorf("H3 mode: %d %s", a.status, a.body)
	}
	cell := strings.ReplaceAll(body, "Berlin", "891f1d48177ffff")
	if a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, cell); a.status != 201 {
		t.Errorf("a cell in H3 mode: %d %s", a.status, a.body)
	}
}
