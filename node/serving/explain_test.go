package serving_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

func explained(t *testing.T, core *serving.Core, operation, body string) serving.Explanation {
	t.Helper()
	e, code, message, err := core.Explain(t.Context(), servingtest.Marketplace, operation, []byte(body), time.UnixMilli(servingtest.NowMillis))
	if code != apierr.OK || err != nil {
		t.Fatalf("%s: %s %s %v", body, code, message, err)
	}
	return e
}

// counted returns the lines of the metrics that requests change.
func counted(t *testing.T, node *servingtest.Node) string {
	t.Helper()
	var lines []string
	for line := range strings.SplitSeq(scrape(t, node), "\n") {
		for _, name := range []string{"gavel_request", "gavel_auction", "gavel_winner", "gavel_loss"} {
			if strings.HasPrefix(line, name) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) < 4 {
		t.Fatalf("the metrics have other names: %q", lines)
	}
	return strings.Join(lines, "\n")
}

// TestExplanationsAgreeWithAuctions checks that an explanation has the winners and losers of the live auction, and changes
// no counter.
func TestExplanationsAgreeWithAuctions(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 200, Kinds: true})
	for operation, body := range map[string]string{
		"auctions": fmt.Sprintf(`{"auctions":[{"type":"banners","slots":2,"slotId":%q,"opaqueUserId":"u"},`+
			`{"type":"listings","slots":3,"products":{"ids":["p-0000001","p-0000002","p-0000003","p-0000004","p-0000199"]}}]}`, servingtest.Slot),
		"sponsored-brand": fmt.Sprintf(`{"auctions":[{"winners":3,"placementId":%q,"triggers":{"searchQuery":"q"}}]}`, servingtest.Placement),
		"travel":          fmt.Sprintf(`{"auctions":[{"type":"hotels","slots":40,"travelContext":{"site":%q}}]}`, servingtest.Site),
	} {
		before := counted(t, node)
		e := explained(t, node.Core, operation, body)
		if after := counted(t, node); after != before {
			t.Errorf("%s: the explanation was counted", operation)
		}
		path := "/v2/auctions"
		if operation != "auctions" {
			path += "/" + operation
		}
		a := ask(node.Core, "POST", path, node.AuctionKey, body)
		var live struct {
			Results []struct {
				ResultType string
				Winners    []struct {
					Rank       int
					Type, ID   string
					CampaignID string
				}
			}
		}
		if err := json.Unmarshal([]byte(a.body), &live); err != nil || a.status != 201 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for i, result := range live.Results {
			x := e.Auctions[i]
			if x.ResultType != result.ResultType || x.Winners != len(result.Winners) || x.Winners < 2 {
				t.Fatalf("%s: %+v, live %+v", operation, x, result)
			}
			losers := 0
			for _, n := range x.Lost {
				losers += int(n)
			}
			if listed := len(x.Candidates) + x.Omitted; listed != x.Winners+losers || losers == 0 {
				t.Errorf("%s: %d candidates, %d winners, %d losers", operation, listed, x.Winners, losers)
			}
			for rank, w := range result.Winners {
				c := x.Candidates[rank]
				if c.Outcome != "won" || c.Rank != w.Rank || c.ID != w.ID || c.Type != w.Type && operation != "sponsored-brand" || c.CampaignID != w.CampaignID || c.Price == "" {
					t.Errorf("%s: rank %d is %+v, live %+v", operation, rank+1, c, w)
				}
			}
			for _, c := range x.Candidates[x.Winners:] {
				if c.Outcome != "lost" || c.Reason == "" || c.Rank != 0 || c.Price != "" {
					t.Errorf("%s: a loser is %+v", operation, c)
				}
			}
		}
		text, err := json.Marshal(e)
		if err != nil || strings.Contains(string(text), "resolvedBidId") || strings.Contains(string(text), `"u"`) {
			t.Errorf("%v: %s", err, text)
		}
	}
}

// TestExplanationHasTheNumbersOfTheGates checks that an explanation shows what the gates of budget, wallet and pacing
// compared, in minor units.
func TestExplanationHasTheNumbersOfTheGates(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 1})
	node.Market.SetServingNodes(2)
	b := node.Market.View().Balances(1) // The fixture's only campaign.
	b.BudgetLeft.Store(5_000_000)
	b.WalletBalance.Store(7_000)
	b.Hold.Store(1_234_500)
	b.WalletHold.Store(2_000)
	cell := market.ClickCell{Marketplace: 1, Format: model.Listing, Level: market.ClickAd, Product: "p-0000000"}
	node.Market.PutClickRate(1, &cell, learn.Counts{Impressions: 4e9 * learn.One, Clicks: 1e9 * learn.One}) // One click of four impressions.
	body := `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p-0000000"]}}]}`
	if a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, body); !strings.Contains(a.body, "resolvedBidId") {
		t.Fatal(a.body)
	}
	// The bid of one minor unit was clamped to the 7,000 micros in the wallet. The win is expected to cost a quarter of that.
	b.Pacing.Store(pacing.Unshaded / 2) // The least bid is one minor unit, so that shading becomes a chance of 0.
	c := explained(t, node.Core, "auctions", body).Auctions[0].Candidates[0]
	text := fmt.Sprintf("%s %s of %s: %s left, %s held, %s in the wallet, %s held, %s pending, chance %v, %t",
		c.Reason, c.Competing, c.Shaded, c.Remaining, c.Hold, c.Wallet, c.WalletHold, c.Pending, c.Pacing, c.Draw > 0 && c.Draw < 1)
	if want := "pacing 0.7 of 1: 500 left, 123.45 held, 0.7 in the wallet, 0.2 held, 0.35 pending, chance 0, true"; text != want {
		t.Errorf("explained as\n%s, want\n%s", text, want)
	}
}

// TestExplanationsNoteWhatIsNotInTheCatalog checks the notes of an auction that finds no bid because the catalog does not have
// what it names.
func TestExplanationsNoteWhatIsNotInTheCatalog(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 20})
	for names, want := range map[string]string{
		`"category":{"id":"kitchen"}`:                                  "category kitchen is not in the catalog",
		`"category":{"disjunctions":[["a","b"],["a"]]}`:                "categories a, b are not in the catalog",
		`"products":{"ids":["p-0000001"]}`:                             "",
		`"products":{"ids":["p-0000001","x","x"]}`:                     "product x is not in the catalog",
		`"products":{"ids":["1","2","3","4","5","6","p-0000001","7"]}`: "7 products are not in the catalog: 1, 2, 3, 4, 5 and 2 more",
	} {
		e := explained(t, node.Core, "auctions", `{"auctions":[{"type":"listings","slots":1,`+names+`}]}`)
		if got := strings.Join(e.Auctions[0].Notes, "; "); got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
}

func TestExplainRefuses(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 1})
	f := func(marketplace uint16, body string, want apierr.Code) {
		t.Helper()
		_, code, message, err := node.Core.Explain(t.Context(), marketplace, "auctions", []byte(body), time.UnixMilli(servingtest.NowMillis))
		if code != want || err != nil {
			t.Errorf("%.80s: %s %s %v, want %s", body, code, message, err, want)
		}
	}
	f(servingtest.Marketplace, `{}`, apierr.MissingAuctions)
	f(servingtest.Marketplace, ` `, apierr.EmptyRequest)
	f(servingtest.Marketplace, strings.Repeat(" ", serving.BodyMax+1), apierr.BadRequest)
	f(servingtest.Suspended, auctionBody, apierr.InvalidMarketplace)
}

// TestExplainStops checks that an explanation ends when its context is cancelled.
func TestExplainStops(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e, _, _, err := node.Core.Explain(ctx, servingtest.Marketplace, "auctions", []byte(auctionBody), time.UnixMilli(servingtest.NowMillis))
	if !errors.Is(err, context.Canceled) || e.Auctions != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestRecentAuctions checks that the ring has the newest requests of a marketplace with their answers, and not more than
// its bound.
func TestRecentAuctions(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 100})
	if all, every := node.Core.Recent(servingtest.Marketplace); all != nil || every != 0 {
		t.Errorf("a node without sample has %v of %d", all, every)
	}
	node.Deps.ExplainEvery = 1
	core := serving.New(node.Deps)
	for slots := 1; slots <= 70; slots++ {
		body := fmt.Sprintf(`{"auctions":[{"type":"listings","slots":%d,"products":{"ids":["p-0000001","p-0000002"]}}]}`, min(slots, 40))
		if a := ask(core, "POST", "/v2/auctions", node.AuctionKey, body); a.status != 201 {
			t.Fatal(a.body)
		}
		serving.WaitRecent(core)
		kept := min(slots, 50)
		all, every := core.Recent(servingtest.Marketplace)
		if every != 1 || len(all) != kept || all[0].Auctions[0].Slots != min(slots, 40) || all[0].Auctions[0].Winners != min(slots, 2) {
			t.Fatalf("after %d requests: %d of %d, %+v", slots, len(all), every, all[0])
		}
	}
	if all, _ := core.Recent(servingtest.Suspended); len(all) != 0 {
		t.Error("another marketplace sees them")
	}
	ask(core, "POST", "/v2/auctions", node.AuctionKey, `{"auctions":[]}`)
	serving.WaitRecent(core)
	if all, _ := core.Recent(servingtest.Marketplace); all[0].Auctions[0].Slots != 40 {
		t.Error("a refused request was kept")
	}
}

// TestRecentAuctionsNameTheirAds checks that each winner of a sampled auction has the resolvedBidId of the answer, and that the core
// knows the user of the auction by it.
func TestRecentAuctionsNameTheirAds(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 100})
	node.Deps.ExplainEvery = 1
	core := serving.New(node.Deps)
	a := ask(core, "POST", "/v2/auctions", node.AuctionKey, `{"auctions":[`+
		`{"type":"listings","slots":2,"opaqueUserId":"ann","products":{"ids":["p-0000001","p-0000002"]}},`+
		`{"type":"listings","slots":1,"products":{"ids":["p-0000003"]}}]}`)
	serving.WaitRecent(core)
	all, _ := core.Recent(servingtest.Marketplace)
	var answer struct {
		Results []struct {
			Winners []struct {
				Rank          int
				ResolvedBidID string
			}
		}
	}
	if err := json.Unmarshal([]byte(a.body), &answer); err != nil || len(all) != 1 || len(answer.Results) != 2 {
		t.Fatalf("%v: %s, %d kept", err, a.body, len(all))
	}
	users := []uint64{serving.UserHash(node.Deps.Secret(), servingtest.Marketplace, []byte("ann")), 0}
	for i, result := range answer.Results {
		if len(result.Winners) != 2-i {
			t.Fatalf("auction %d: %s", i, a.body)
		}
		for k, w := range result.Winners {
			if c := all[0].Auctions[i].Candidates[k]; c.Rank != w.Rank || c.ResolvedBidID != w.ResolvedBidID {
				t.Errorf("auction %d, rank %d: the explanation has rank %d and %q, want %q", i, w.Rank, c.Rank, c.ResolvedBidID, w.ResolvedBidID)
			}
			if got := core.UserOf(servingtest.Marketplace, w.ResolvedBidID); got != users[i] {
				t.Errorf("auction %d: the user is %x, want %x", i, got, users[i])
			}
			if core.UserOf(servingtest.Suspended, w.ResolvedBidID) != 0 {
				t.Error("another marketplace sees the user")
			}
		}
	}
	if core.UserOf(servingtest.Marketplace, "") != 0 || node.Core.UserOf(servingtest.Marketplace, answer.Results[0].Winners[0].ResolvedBidID) != 0 {
		t.Error("a user of an ad that is not kept")
	}
}

// TestRecentAuctionsAreSampled checks that about one request in ten is sampled.
func TestRecentAuctionsAreSampled(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	node.Deps.ExplainEvery = 10
	core := serving.New(node.Deps)
	sampled := 0
	for range 2_000 {
		if ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody); serving.RecentIsBusy(core) {
			sampled++
			serving.WaitRecent(core)
		}
	}
	all, _ := core.Recent(servingtest.Marketplace)
	if len(all) == 0 || sampled > 1_000 {
		t.Errorf("%d sampled, %d kept", sampled, len(all))
	}
}

func TestMinorUnits(t *testing.T) {
	f := func(m money.Micros, exponent uint8, want string) {
		t.Helper()
		if got := serving.MinorUnits(m, exponent); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%d micros at exponent %d: %s, want %s", m, exponent, got, want)
		}
	}
	f(0, 2, "0")
	f(1_234_500, 2, "123.45")
	f(10_000, 2, "1")
	f(1, 2, "0.0001")
	f(900_001, 2, "90.0001")
	f(-1, 2, "-0.0001")
	f(-10_500, 2, "-1.05")
	f(1_500_000, 0, "1.5")
	f(100, 4, "1")
}
