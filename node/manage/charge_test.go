package manage_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	service "github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// seller creates vendor v with product p, so that campaigns can be created.
func seller(t *testing.T, w *managetest.Environment) {
	t.Helper()
	for path, body := range map[string]string{
		"/vendors":  `{"vendors":[{"id":"v","name":"V"}]}`,
		"/products": `{"products":[{"id":"p","name":"P","vendors":["v"],"categories":[]}]}`,
	} {
		if rec := call(w, "PUT", catalogs+path, "management", body); rec.Code != 200 {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

// TestWhoMakesACPACampaign: the operation that has a charge type accepts CPA with a total budget; the others have none.
func TestWhoMakesACPACampaign(t *testing.T) {
	w := managetest.New(t)
	seller(t, w)
	w.Keys["page"] = w.ModalToken("management", "v")
	const common = `"name":"C","chargeType":"CPA",`
	bids := `"bids":[{"target":{"type":"product","id":"p"},"amount":5}]`
	for _, c := range []struct {
		method, path, key, body string
		status                  int
	}{
		{"POST", "/campaign-service/campaigns?vendor_id=v", "management", `"campaignType":"manual","budget":{"amount":9,"type":"total"},` + bids, 201},
		{"POST", "/campaign-service/campaigns?vendor_id=v", "management", `"campaignType":"manual","budget":{"amount":9},` + bids, 422},
		{"POST", "/agency/campaigns?vendor_id=v", "management", `"budget":9,"budgetPeriod":"total","targetRoas":2,"startDate":"2026-03-17T09:30:00Z","targets":[{"type":"product","id":"p"}]`, 201},
		{"POST", "/toppie/campaigns?vendor_id=v", "management", `"budget":9,"budgetPeriod":"total","targetRoas":2,"startDate":"2026-03-17T09:30:00Z","targets":[{"type":"product","id":"p"}]`, 201},
		{"POST", "/modal-service/vendors/v/campaigns", "page", `"budget":{"amount":9},` + bids, 200},
		{"POST", "/modal-service/vendors/v/promote-my-shop", "page", `"budgetAmount":9`, 200},
	} {
		rec := call(w, c.method, "/public/v1"+c.path, c.key, "{"+common+c.body+"}")
		if rec.Code != c.status || c.status == 422 && !strings.Contains(rec.Body.String(), `"type"`) {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, rec.Code, rec.Body, c.status)
		}
	}
	all, _, err := w.Store.Tenant(managetest.Main).Campaigns(t.Context(), store.CampaignFilter{Limit: 100})
	if err != nil || len(all) != 5 {
		t.Fatalf("%d campaigns, %v, want one of the operation that takes a charge type and four of those that do not", len(all), err)
	}
	for i := range all {
		if all[i].Charge == model.CPA {
			continue
		}
		path := fmt.Sprint("/public/v1/campaign-service/campaigns/", all[i].ID)
		if rec := call(w, "PATCH", path, "management", `{"chargeType":"CPA"}`); rec.Code != 200 || !strings.Contains(rec.Body.String(), `"CPC"`) {
			t.Errorf("PATCH: %d %s, want the charge type as it was", rec.Code, rec.Body)
		}
	}
}

// TestACPACampaignCompetesOnceItIsCharged: as long as a node of an older version may be in the cluster no purchase is charged. Then a
// CPA campaign wins nothing, an explanation says that it is inactive, and campaigns that are charged win as before. From
// LevelAttribution on it wins.
func TestACPACampaignCompetesOnceItIsCharged(t *testing.T) {
	t.Run("before", func(t *testing.T) { testPaidByPurchases(t, managetest.NewAt(t, command.LevelAttribution-1), false) })
	t.Run("after", func(t *testing.T) { testPaidByPurchases(t, managetest.New(t), true) })
}

func testPaidByPurchases(t *testing.T, w *managetest.Environment, competes bool) {
	t.Helper()
	seller(t, w)
	if rec := call(w, "POST", "/public/v1/billing-service/vendors/v/balance", "management", `{"balance":50}`); rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	const request = `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`
	for i, charge := range []model.ChargeType{model.CPA, model.CPC} {
		wins := i
		if competes {
			wins = 1
		}
		c := model.Campaign{VendorID: "v", Name: "c", Type: "manual", Charge: charge, Period: model.Total, Budget: 9_000_000, Active: true, Status: model.Approved}
		bid := service.ListingBid("p")
		bid.Amount = 900_000
		if err := w.Store.Tenant(managetest.Main).CreateCampaign(t.Context(), &c, []model.Bid{bid}); err != nil {
			t.Fatal(err)
		}
		rec := call(w, "POST", "/v2/auctions", "auction", request)
		if winners := strings.Count(rec.Body.String(), `"resolvedBidId"`); winners != wins {
			t.Errorf("with a campaign of charge type %d: %d %s, want %d winners", charge, rec.Code, rec.Body, wins)
		}
		rec = call(w, "POST", "/public/v1/auctions/explain", "management", request)
		var explained struct {
			Auctions []struct {
				Candidates []struct{ ChargeType, Outcome, Reason string }
			}
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &explained); err != nil || len(explained.Auctions) != 1 || len(explained.Auctions[0].Candidates) != i+1 {
			t.Fatalf("%v: %d %s", err, rec.Code, rec.Body)
		}
		for _, x := range explained.Auctions[0].Candidates {
			if x.ChargeType == "CPA" && !competes && (x.Outcome != "lost" || x.Reason != "inactive") {
				t.Errorf("the CPA campaign is explained as %+v", x)
			}
		}
	}
}
