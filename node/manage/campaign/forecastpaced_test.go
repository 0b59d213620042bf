package campaign

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// marketOf is a market in which a bid of 60 cents wins all 100 auctions at its own price, and one of a part of that the
// same part of them: spend falls with the square of the bids.
type marketOf struct {
	replays int
	from    time.Time
}

func (m *marketOf) Replay(_ context.Context, _ uint16, s *market.WhatIf, _ time.Time) (serving.Replay, apierr.Code, error) {
	m.replays++
	r := serving.Replay{From: m.from, To: m.from.Add(24 * time.Hour), Every: 1000, Requests: 100, Auctions: 100}
	for range int(math.Round(100 * float64(s.Bids[0].Amount) / float64(60*cent))) {
		r.Won = append(r.Won, serving.Won{Wins: 1, Paid: s.Bids[0].Amount})
	}
	return r, apierr.OK, nil
}

// TestForecastsAreSpreadByPacing: a budget of a quarter of what the full bids spend lasts with half of the bids, which
// win half of the auctions; spent as fast as possible it would win a quarter of them.
func TestForecastsAreSpreadByPacing(t *testing.T) {
	forecast := func(c model.Campaign) (*ForecastPerDay, *marketOf) {
		m := &marketOf{from: time.Unix(0, 0)}
		s := forecastService{core: m}
		x := market.WhatIf{Campaign: c, Bids: []model.Bid{{Amount: 60 * cent}}}
		first, _, _ := m.Replay(t.Context(), 1, &x, m.from)
		e := estimator{campaign: &c, bids: x.Bids, replay: &first, seen: 1, exponent: 2, multiplier: 1}
		if err := s.pace(t.Context(), 1, &x, &e, m.from); err != nil {
			t.Fatal(err)
		}
		return e.forecast().PerDay, m
	}
	full := 100 * 60 * cent
	d, m := forecast(model.Campaign{Charge: model.CPM, Budget: full / 4})
	if d.BidMultiplier < 0.49 || d.BidMultiplier > 0.51 || d.Wins.Expected < 49_000 || d.Wins.Expected > 51_000 || !d.LimitedByBudget || m.replays > shadeRounds+1 {
		t.Errorf("a daily budget: %+v after %d replays", d, m.replays)
	}
	if minor := int64(full / 4 / money.PerMinor(2)); d.Spend.Expected != minor {
		t.Errorf("it spends %d of %d", d.Spend.Expected, minor)
	}
	d, m = forecast(model.Campaign{Charge: model.CPM, Budget: full / 4, Period: model.Total})
	if d.BidMultiplier != 1 || d.Wins.Expected != 25_000 || !d.LimitedByBudget || m.replays != 1 {
		t.Errorf("a total budget: %+v after %d replays", d, m.replays)
	}
	d, m = forecast(model.Campaign{Charge: model.CPM, Budget: full + cent})
	if d.BidMultiplier != 1 || d.Wins.Expected != 100_000 || d.LimitedByBudget || m.replays != 1 {
		t.Errorf("a budget that is enough: %+v after %d replays", d, m.replays)
	}
}
