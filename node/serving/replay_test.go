package serving_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

func replay(t *testing.T, core *serving.Core, s *market.WhatIf) serving.Replay {
	t.Helper()
	r, code, err := core.Replay(context.Background(), servingtest.Marketplace, s, time.UnixMilli(servingtest.NowMillis).Add(time.Hour))
	if code != apierr.OK || err != nil {
		t.Fatal(code, err)
	}
	return r
}

// recording returns a core that samples one request in every and began to answer an hour before the fixture's clock.
func recording(every int) (*servingtest.Node, *serving.Core) {
	node := servingtest.New(servingtest.Spec{Bids: 200, Kinds: true})
	node.Deps.ExplainEvery, node.Deps.Suppose = every, node.Market.WhatIfView
	node.Deps.Started = time.UnixMilli(servingtest.NowMillis).Add(-time.Hour)
	return node, serving.New(node.Deps)
}

// TestReplayEqualsWhatWouldHaveBeen checks that a supposed campaign wins in a replay what the same campaign wins if it
// really exists and the same requests come again.
func TestReplayEqualsWhatWouldHaveBeen(t *testing.T) {
	node, core := recording(1)
	random := rand.New(rand.NewPCG(1, 2))
	var bodies []string
	for range 300 {
		var auctions []string
		for range 1 + random.IntN(5) {
			var ids []string
			for range 1 + random.IntN(6) {
				ids = append(ids, fmt.Sprintf("%q", fmt.Sprintf("p-%07d", random.IntN(250))))
			}
			auctions = append(auctions, fmt.Sprintf(`{"type":"listings","slots":%d,"products":{"ids":[%s]}}`, 1+random.IntN(4), strings.Join(ids, ",")))
		}
		body := `{"auctions":[` + strings.Join(auctions, ",") + `]}`
		bodies = append(bodies, body)
		if a := ask(core, "POST", "/v2/auctions", node.AuctionKey, body); a.status != 201 {
			t.Fatal(a.body)
		}
	}
	s := &market.WhatIf{Campaign: model.Campaign{Marketplace: servingtest.Marketplace, VendorID: "newcomer", Charge: model.CPC}}
	for i := range 40 {
		s.Bids = append(s.Bids, model.Bid{
			Target: fmt.Sprintf("p-%07d", i*5), Active: true, Amount: money.Micros(1+random.IntN(100))*100_000 + money.Micros(i) + 1, // No ties: they go by the auction.
			Triggers: []model.Trigger{{Kind: model.TriggerProduct, Value: fmt.Sprintf("p-%07d", i*5)}},
		})
	}
	r := replay(t, core, s)
	if r.Requests != len(bodies) || r.Omitted != 0 || r.Every != 1 || r.To.Sub(r.From) != 2*time.Hour {
		t.Fatalf("%+v", r)
	}

	// The reference adds the campaign to the market, repeats the requests and counts the campaign's winners. Only the token
	// of a winner has the price, so the price comes from an explanation.
	c := s.Campaign
	c.ID, c.Group, c.Ordinal, c.Active, c.Status = market.WhatIfCampaignID, 300, 1, true, model.Approved
	slot := node.Market.PutCampaign(&c)
	slot.BudgetLeft.Store(1 << 60)
	slot.WalletBalance.Store(1 << 60)
	for i := range s.Bids {
		b := s.Bids[i]
		b.Ordinal = uint32(i) + 1
		node.Market.PutBid(&c, &b)
	}
	node.Market.Publish()
	wins, requests, paid := 0, 0, 0.0
	for _, body := range bodies {
		won := false
		for _, x := range explained(t, core, "auctions", body).Auctions {
			for _, candidate := range x.Candidates {
				if candidate.Outcome == "won" && candidate.CampaignID == market.WhatIfCampaignID.String() {
					price, err := candidate.Price.Float64()
					if err != nil {
						t.Fatal(err)
					}
					wins, paid, won = wins+1, paid+price, true
				}
			}
		}
		if won {
			requests++
		}
	}
	gotWins, gotPaid := 0, money.Micros(0)
	for _, w := range r.Won {
		gotWins, gotPaid = gotWins+w.Wins, gotPaid+w.Paid
	}
	if gotWins != wins || len(r.Won) != requests || wins < 100 || int64(gotPaid) != int64(paid*10_000+0.5) {
		t.Errorf("%d wins in %d requests for %d, naively %d in %d for %.4f", gotWins, len(r.Won), gotPaid, wins, requests, paid)
	}
}

// TestReplayOfLittle checks that a replay without recorded requests is empty, that recorded requests belong to one
// marketplace, and that their number and size are bounded.
func TestReplayOfLittle(t *testing.T) {
	s := &market.WhatIf{Campaign: model.Campaign{Marketplace: servingtest.Marketplace, VendorID: "newcomer", Charge: model.CPC}}
	node, core := recording(0)
	ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody)
	if r := replay(t, core, s); r.Every != 0 || r.Requests != 0 {
		t.Errorf("a node that records nothing has %+v", r)
	}

	node, core = recording(1)
	if r := replay(t, core, s); r.Every != 1 || r.Requests != 0 || r.Auctions != 0 {
		t.Errorf("before the first request: %+v", r)
	}
	ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody)
	ask(core, "POST", "/v2/auctions", node.AuctionKey, `{"auctions":[]}`)
	if r := replay(t, core, s); r.Requests != 1 || r.Omitted != 0 || len(r.Won) != 0 {
		t.Errorf("after one request and a refused one: %+v", r)
	}
	padded := strings.Replace(auctionBody, "{", "{"+strings.Repeat(" ", 256<<10), 1)
	ask(core, "POST", "/v2/auctions", node.AuctionKey, padded)
	if r := replay(t, core, s); r.Requests != 1 || r.Omitted != 1 {
		t.Errorf("after a large one: %+v", r)
	}
	if r, code, err := core.Replay(context.Background(), servingtest.Suspended, s, time.Now()); code != apierr.OK || err != nil || r.Requests != 0 {
		t.Errorf("another marketplace sees %+v, %v, %v", r, code, err)
	}

	body := strings.Replace(auctionBody, "{", "{"+strings.Repeat(" ", 200<<10), 1)
	for range 200 {
		ask(core, "POST", "/v2/auctions", node.AuctionKey, body)
	}
	if r := replay(t, core, s); r.Requests < 150 || r.Requests > 163 || !r.From.Equal(time.UnixMilli(servingtest.NowMillis)) {
		t.Errorf("32 MiB hold %d requests of 200 KiB since %v", r.Requests, r.From)
	}
	for range 11_000 {
		ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody)
	}
	if r := replay(t, core, s); r.Requests != 10_000 {
		t.Errorf("%d requests are kept", r.Requests)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := core.Replay(ctx, servingtest.Marketplace, s, time.Now()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestReplayIsBounded checks that a replay ends when it has used its CPU time. It has run the newest requests, and From is
// the time since which it has run all.
func TestReplayIsBounded(t *testing.T) {
	node, core := recording(1)
	for range 30 {
		if a := ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody); a.status != 201 {
			t.Fatal(a.body)
		}
	}
	s := &market.WhatIf{Campaign: model.Campaign{Marketplace: servingtest.Marketplace, VendorID: "newcomer", Charge: model.CPC}}
	// Every reading of this clock advances it by 100 ms. Each step reads it, and the scheduler around each slice.
	var clock time.Time
	bounds := limits.SchedulerDefaults
	bounds.Run = time.Hour
	scheduler := limits.NewScheduler(limits.SchedulerConfig{SchedulerLimits: bounds, Now: func() time.Time {
		clock = clock.Add(100 * time.Millisecond)
		return clock
	}, Thread: func() (time.Duration, bool) { return 0, false }})
	var r serving.Replay
	err := scheduler.Run(t.Context(), servingtest.Marketplace, limits.KindForecast, func(ctx context.Context) (err error) {
		r, _, err = core.Replay(ctx, servingtest.Marketplace, s, time.UnixMilli(servingtest.NowMillis).Add(time.Hour))
		return err
	})
	if err != nil || r.Requests < 5 || r.Requests > 28 || !r.From.Equal(time.UnixMilli(servingtest.NowMillis)) || r.Omitted != 0 {
		t.Errorf("%d of 30 requests since %v, %v", r.Requests, r.From, err)
	}
	if whole := replay(t, core, s); whole.Requests != 30 || !whole.From.Before(r.From) {
		t.Errorf("%d requests since %v", whole.Requests, whole.From)
	}
}
