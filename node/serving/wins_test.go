package serving_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// spent returns the sum of the node's own totals over all campaigns, and checks that every win has a cost.
func spent(t *testing.T, s *market.Spending, groups int) (total market.Spent) {
	t.Helper()
	s.Collect()
	for g := range ids.Group(groups + 1) {
		for _, x := range s.AppendChanged(nil, g, 0) {
			if x.Wins == 0 || uint64(x.Expected) < x.Wins {
				t.Errorf("a campaign spent %+v", x)
			}
			total.Expected += x.Expected
			total.Wins += x.Wins
		}
	}
	return total
}

// TestWinsAreRecordedOnce checks that every winner of an answer is added to the totals once, external ones excepted,
// and that auctions are counted by format.
func TestWinsAreRecordedOnce(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 200, Kinds: true})
	spending := market.NewSpending(node.Market)
	wins := 0
	for _, x := range []struct{ path, body string }{
		{"", `{"auctions":[{"type":"listings","slots":3,"products":{"ids":["p-0000001","p-0000002","p-0000003","p-0000004"]}},` +
			`{"type":"listings","slots":1,"products":{"ids":["p-0000001"]}}]}`},
		{"", fmt.Sprintf(`{"auctions":[{"type":"banners","slots":2,"slotId":%q}]}`, servingtest.Slot)},
		{"/sponsored-brand", fmt.Sprintf(`{"auctions":[{"winners":3,"placementId":%q,"triggers":{"searchQuery":"q"}}]}`, servingtest.Placement)},
		{"/travel", fmt.Sprintf(`{"auctions":[{"type":"hotels","slots":40,"travelContext":{"site":%q}}]}`, servingtest.Site)},
		{"", `{"auctions":[{"type":"listings","slots":2,"products":{"ids":["p-0000001","p-0000002"]},` +
			`"demandSources":[{"source":"partner","bids":[{"chargeType":"CPC","entity":{"type":"product","id":"p-0000002"},"bidAmount":100000}]}]}]}`},
		{"", `{"auctions":[{"type":"unknown"}]}`},
		{"", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["unknown"]}}]}`},
	} {
		a := ask(node.Core, "POST", "/v2/auctions"+x.path, node.AuctionKey, x.body)
		external := strings.Count(a.body, `"demandSource":"partner"`)
		if (external > 0) != strings.Contains(x.body, "partner") {
			t.Errorf("%s: %d external winners: %s", x.body, external, a.body)
		}
		wins += strings.Count(a.body, `"resolvedBidId"`) - external
		if got := spent(t, spending, 1); got.Wins != uint64(wins) {
			t.Errorf("%s: %d wins in all, want %d: %s", x.body, got.Wins, wins, a.body)
		}
	}
	if wins < 8 {
		t.Errorf("only %d wins", wins)
	}
	want := fmt.Sprintf("[{%d 0 5} {%d 1 1} {%d 2 1}]", servingtest.Marketplace, servingtest.Marketplace, servingtest.Marketplace)
	if got := fmt.Sprint(node.Market.AppendTraffic(nil)); got != want {
		t.Errorf("traffic %s, want %s", got, want)
	}
}

// TestWinsOfAnAbandonedRunAreNotRecorded checks that an auction which runs again because a group became stale records
// only the winners of its answer.
func TestWinsOfAnAbandonedRunAreNotRecorded(t *testing.T) {
	core, node, asked := coreWithStaleness(false, true)
	spending := market.NewSpending(node.Market)
	a := ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody)
	if got := spent(t, spending, 1); *asked != 3 || strings.Contains(a.body, "resolvedBidId") || got.Wins != 0 {
		t.Errorf("asked %d times, %+v recorded: %s", *asked, got, a.body)
	}
}

// TestNothingButAuctionsRecordsWins checks that explanations, those of sampled requests included, and forecasts leave
// the totals and the traffic as they were.
func TestNothingButAuctionsRecordsWins(t *testing.T) {
	node, core := recording(1)
	spending := market.NewSpending(node.Market)
	a := ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody)
	wins := uint64(strings.Count(a.body, `"resolvedBidId"`))
	traffic := fmt.Sprint(node.Market.AppendTraffic(nil))
	check := func(what string) {
		t.Helper()
		if got := spent(t, spending, 1); got.Wins != wins || wins == 0 {
			t.Errorf("%s: %d wins, want %d", what, got.Wins, wins)
		}
		if got := fmt.Sprint(node.Market.AppendTraffic(nil)); got != traffic {
			t.Errorf("%s: traffic %s, want %s", what, got, traffic)
		}
	}
	serving.WaitRecent(core)
	if recent, _ := core.Recent(servingtest.Marketplace); len(recent) != 1 || recent[0].Auctions[0].Winners == 0 {
		t.Errorf("the sampled request is explained as %+v", recent)
	}
	check("the explanation of a sampled request")

	if e := explained(t, core, "auctions", auctionBody); e.Auctions[0].Winners == 0 {
		t.Error("the explanation has no winner")
	}
	check("an explanation")

	s := &market.WhatIf{Campaign: model.Campaign{Marketplace: servingtest.Marketplace, VendorID: "newcomer", Charge: model.CPC}}
	for i := range 5 {
		id := servingtest.ProductID(i)
		s.Bids = append(s.Bids, model.Bid{Target: id, Active: true, Amount: 1e12, Triggers: []model.Trigger{{Kind: model.TriggerProduct, Value: id}}})
	}
	if r := replay(t, core, s); r.Requests != 1 || len(r.Won) != 1 {
		t.Errorf("the forecast is %+v", r)
	}
	check("a forecast")

	if _, code, _, _ := core.Explain(t.Context(), servingtest.Marketplace, "auctions", []byte(`{}`), time.UnixMilli(servingtest.NowMillis)); code == apierr.OK {
		t.Error("an empty body was explained")
	}
	check("a refused explanation")
}
