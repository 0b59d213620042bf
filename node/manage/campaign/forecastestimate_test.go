package campaign

import (
	"math"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

const cent = money.Micros(10_000)

// example is an estimator whose numbers can be calculated by hand: in six hours 100 requests were recorded, one in 10; 40 of
// them won once at 30 cents and 10 won twice at 50 cents in all.
func example() *estimator {
	from := time.Date(2026, 3, 17, 6, 0, 0, 0, time.UTC)
	r := serving.Replay{From: from, To: from.Add(6 * time.Hour), Every: 10, Requests: 100, Auctions: 100}
	for range 40 {
		r.Won = append(r.Won, serving.Won{Wins: 1, Paid: 30 * cent})
	}
	for range 10 {
		r.Won = append(r.Won, serving.Won{Wins: 2, Paid: 50 * cent})
	}
	return &estimator{
		campaign: &model.Campaign{Charge: model.CPC}, bids: []model.Bid{{Amount: 60 * cent}}, replay: &r,
		rates: rates{"marketplace", 10_000, 500, 50}, seen: 1, exponent: 2,
	}
}

func TestEstimatesWorkedOutByHand(t *testing.T) {
	const wins, paid = 60 * 40, (40*30 + 10*50) * 40 // 40 = 10 requests each, four times six hours.
	for name, c := range map[string]struct {
		change                     func(e *estimator)
		wins, seen, clicks, spend  int64
		limited, noClicks, noSpend bool
	}{
		"CPC":           {change: func(*estimator) {}, wins: wins, seen: wins, clicks: wins / 20, spend: paid / 20},
		"half are seen": {change: func(e *estimator) { e.seen = 0.5 }, wins: wins, seen: wins / 2, clicks: wins / 40, spend: paid / 40},
		"CPM":           {change: func(e *estimator) { e.campaign.Charge = model.CPM }, wins: wins, seen: wins, clicks: wins / 20, spend: paid / 1000},
		"CPM without rates": {
			change: func(e *estimator) { e.campaign.Charge, e.rates = model.CPM, rates{} }, wins: wins, seen: wins, noClicks: true, spend: paid / 1000,
		},
		"CPA": {change: func(e *estimator) { e.campaign.Charge = model.CPA }, wins: wins, seen: wins, clicks: wins / 20, spend: paid / 200},
		"CPA without clicks": {
			change: func(e *estimator) { e.campaign.Charge, e.rates.clicks, e.rates.purchases = model.CPA, 0, 0 }, wins: wins, seen: wins, noSpend: true,
		},
		"no rates": {change: func(e *estimator) { e.rates = rates{} }, wins: wins, seen: wins, noClicks: true, noSpend: true},
		"some omitted": {
			change: func(e *estimator) { e.replay.Omitted = 50 }, wins: wins * 3 / 2, seen: wins * 3 / 2, clicks: wins * 3 / 40, spend: paid * 3 / 40,
		},
		"yen": {change: func(e *estimator) { e.exponent = 0 }, wins: wins, seen: wins, clicks: wins / 20, spend: paid / 20 / 100},
		"daily budget of a tenth": {
			change: func(e *estimator) { e.campaign.Budget = paid / 200 * cent }, wins: wins / 10, seen: wins / 10, clicks: wins / 200, spend: paid / 200, limited: true,
		},
		"weekly budget": {
			change: func(e *estimator) { e.campaign.Budget, e.campaign.Period = 7*paid/200*cent, model.Weekly },
			wins:   wins / 10, seen: wins / 10, clicks: wins / 200, spend: paid / 200, limited: true,
		},
		"total budget over ten days": {
			change: func(e *estimator) {
				e.campaign.Pacing = model.PacingEven
				e.campaign.Budget, e.campaign.Period, e.campaign.EndMillis = 10*paid/200*cent, model.Total, 10*24*3600*1000
			},
			wins: wins / 10, seen: wins / 10, clicks: wins / 200, spend: paid / 200, limited: true,
		},
		"total budget as soon as possible": {
			change: func(e *estimator) {
				e.campaign.Budget, e.campaign.Period, e.campaign.EndMillis = paid/200*cent, model.Total, 10*24*3600*1000
			},
			wins: wins / 10, seen: wins / 10, clicks: wins / 200, spend: paid / 200, limited: true,
		},
	} {
		e := example()
		c.change(e)
		f := e.forecast()
		d := f.PerDay
		if d == nil || f.Won != 60 || f.Reason != nil {
			t.Fatalf("%s: %+v", name, f)
		}
		near := func(what string, got *ForecastEstimate, want int64) {
			t.Helper()
			if math.Abs(float64(got.Expected-want)) > 1 || got.Low > got.Expected || got.High < got.Expected {
				t.Errorf("%s: %s %+v, want %d", name, what, got, want)
			}
		}
		near("wins", &d.Wins, c.wins)
		near("impressions", &d.Impressions, c.seen)
		if (d.Clicks == nil) != c.noClicks || (d.Spend == nil) != c.noSpend || d.LimitedByBudget != c.limited {
			t.Errorf("%s: %+v", name, d)
			continue
		}
		if d.Clicks != nil {
			near("clicks", d.Clicks, c.clicks)
		}
		if d.Spend != nil {
			near("spend", d.Spend, c.spend)
		}
	}
}

// TestNothingIsInvented: numbers that cannot be known are null.
func TestNothingIsInvented(t *testing.T) {
	for want, change := range map[string]func(r *serving.Replay){
		"not_recording": func(r *serving.Replay) { *r = serving.Replay{From: r.To, To: r.To} },
		"no_auctions":   func(r *serving.Replay) { r.Requests, r.Auctions, r.Won = 0, 0, nil },
		"too_short":     func(r *serving.Replay) { r.From = r.To.Add(-spanMin + 1) },
	} {
		e := example()
		change(e.replay)
		if f := e.forecast(); f.PerDay != nil || f.Reason == nil || *f.Reason != want {
			t.Errorf("%s: %+v", want, f)
		}
	}
	e := example()
	e.replay.Won = nil
	d := e.forecast().PerDay
	if d.Wins.Expected != 0 || d.Wins.Low != 0 || d.Wins.High < 100 || d.Spend.Expected != 0 || d.Spend.High < 1 {
		t.Errorf("nothing was won in a small sample: %+v", d)
	}
}
