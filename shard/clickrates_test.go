package shard_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// learning opens a machine at the newest level on day 20,000 with a listing campaign (ordinal 1) and a banner campaign (2)
// that have money.
func learning(t *testing.T) *shardtest.Replica {
	t.Helper()
	r := open(t, shardtest.NewKV())
	r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelNewest}))
	r.Do(command.AppendPutMarketplace(nil, benchNow, &model.Marketplace{Ordinal: 1, Name: "m", CurrencyCode: "USD"}))
	r.Do(deposit(1, "v", 1_000_000))
	r.Do(create(1, "v", 1, 0))
	banner := campaign(1, "v", 2)
	banner.Format = model.Banner
	r.Do(command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: banner}))
	onDay(r, 20_000)
	return r
}

func onDay(r *shardtest.Replica, day uint32) {
	r.Do(command.AppendAdvance(nil, benchNow, &command.Advance{Periods: []command.Periods{{Marketplace: 1, Day: day}}}))
}

// shown returns an impression or click with its own id and token, at a rank of placement 3.
func shown(kind event.Kind, id byte, rank uint8, product string) command.EventRecord {
	e := click(id, id)
	e.Kind, e.Place, e.Rank, e.AgeSeconds, e.Product = kind, 3, rank, 60, []byte(product)
	return e
}

// rates lists what was learned, as text: for each cell the impressions and clicks as they are on a day.
func rates(r *shardtest.Replica, day uint32) (text string) {
	for _, x := range r.Queries().ClickRates(1) {
		x.Decay(day)
		what := []string{"format", "placement", "ad"}[x.Level]
		if x.Level > market.ClickFormat {
			what += fmt.Sprint(" ", x.Placement)
		}
		if x.Product != "" {
			what += " " + x.Product
		}
		if x.Bid != 0 {
			what += fmt.Sprint(" bid ", x.Bid)
		}
		text += fmt.Sprintf("%d %s: %.2f %.2f, ", x.Format, what, float64(x.Impressions)/learn.One, float64(x.Clicks)/learn.One)
	}
	return text
}

// An impression counts with the visibility of its rank, a click as one, each for its ad, its placement and its format.
func TestEventsTeachClickRates(t *testing.T) {
	r := learning(t)
	banner := shown(event.Click, 9, 1, "")
	banner.Campaign, banner.Bid = 2, 7
	unknown := shown(event.Impression, 4, 1, "")
	silent := shown(event.Impression, 5, 1, "p1")
	silent.Rank, silent.AgeSeconds, silent.Product = 0, 0, nil
	report(t, r, benchNow, shown(event.Impression, 1, 1, "p1"), shown(event.Impression, 2, 2, "p1"), shown(event.Impression, 3, 4, "p2"),
		shown(event.Click, 11, 2, "p1"), banner, unknown, silent)
	const want = "0 format: 3.34 1.00, 0 placement 3: 3.34 1.00, 0 ad 3 p1: 1.80 1.00, 0 ad 3 p2: 0.54 0.00, " +
		"1 format: 0.00 1.00, 1 placement 3: 0.00 1.00, 1 ad 3 bid 7: 0.00 1.00, "
	expect(t, "learned", rates(r, 20_000), want)
	for what, again := range map[string]*shardtest.Replica{"restarted": open(t, r.KV), "from a snapshot": open(t, r.KV.Copy())} {
		expect(t, what, rates(again, 20_000), want)
		expect(t, what+", published", again.Feed.Lines(), r.Feed.Lines())
	}
	prior := learn.NewPrior(learn.PriorRate)
	format := r.Feed.Clicks[market.ClickCell{Marketplace: 1}]
	if got := float64(format.Predict(&prior)) / (1 << 32); math.Abs(got-3.7/93.34) > 1e-4 {
		t.Errorf("the predicted rate is %.5f, want %.5f", got, 3.7/93.34)
	}
}

// Only the first report of an event teaches, and of several clicks on a charged token only the first.
func TestOnlyTheFirstReportTeaches(t *testing.T) {
	r := learning(t)
	first := shown(event.Click, 1, 1, "p1")
	again := first
	again.Key = [16]byte{99}
	expect(t, "outcomes", outcomes(report(t, r, benchNow, first, first, again)), "charged:100 duplicate:0 already_charged:0 ")
	const want = "0 format: 0.00 1.00, 0 placement 3: 0.00 1.00, 0 ad 3 p1: 0.00 1.00, "
	expect(t, "learned", rates(r, 20_000), want)
	expect(t, "clicks of the delay", r.Queries().ClickDelay(1).Clicks, 1)
	late := shown(event.Impression, 2, 1, "p1")
	late.OccurredMillis = benchNow - 31*day
	report(t, r, benchNow, late)
	report(t, r, benchNow, first)
	expect(t, "after repeats", rates(r, 20_000), want)
}

// Half of what was learned is forgotten in 14 days, also of what nobody sees any more. An ad of which less than one
// impression is left makes room for others.
func TestClickRatesDecay(t *testing.T) {
	r := learning(t)
	for id := range byte(4) {
		report(t, r, benchNow, shown(event.Impression, 1+id, 1, "p1"))
	}
	report(t, r, benchNow, shown(event.Impression, 9, 1, "p2"))
	onDay(r, 20_014)
	expect(t, "two weeks later", rates(r, 20_014), "0 format: 2.50 0.00, 0 placement 3: 2.50 0.00, 0 ad 3 p1: 2.00 0.00, ")
	if got := float64(r.Feed.Clicks[market.ClickCell{Marketplace: 1}].Impressions) / learn.One; math.Abs(got-2.5) > 0.01 {
		t.Errorf("auctions read %.3f impressions, want 2.5", got)
	}
	if _, known := r.Feed.Clicks[market.ClickCell{Marketplace: 1, Level: market.ClickAd, Placement: 3, Product: "p2"}]; known {
		t.Error("auctions still read the dropped ad")
	}
	onDay(r, 20_030)
	expect(t, "a month later", rates(r, 20_030), "0 format: 1.13 0.00, 0 placement 3: 1.13 0.00, ")
}

// With as many ads as there may be, a further one teaches the rates of its placement and format only.
func TestClickRatesAreBounded(t *testing.T) {
	r := learning(t)
	r.Machine.LimitClickAds(1)
	report(t, r, benchNow, shown(event.Impression, 1, 1, "p1"), shown(event.Impression, 2, 1, "p2"), shown(event.Impression, 3, 1, "p1"))
	expect(t, "full", rates(r, 20_000), "0 format: 3.00 0.00, 0 placement 3: 3.00 0.00, 0 ad 3 p1: 2.00 0.00, ")
	onDay(r, 20_020)
	report(t, r, benchNow, shown(event.Impression, 4, 1, "p2"))
	expect(t, "with room again", rates(r, 20_020), "0 format: 2.11 0.00, 0 placement 3: 2.11 0.00, 0 ad 3 p2: 1.00 0.00, ")
}

// Verify finds an ad without its placement, and counts of a day that has not come.
func TestVerifyFindsInconsistentClickRates(t *testing.T) {
	for what, change := range map[string]func(kv *shardtest.KV, key, value []byte){
		"a placement is missing": func(kv *shardtest.KV, key, _ []byte) {
			if key[4] == byte(market.ClickPlacement) {
				b := kv.Batch()
				b.Delete(key)
				b.Commit()
			}
		},
		"of tomorrow": func(kv *shardtest.KV, key, value []byte) { kv.Put(key, append([]byte{0x21, 0x4e, 0, 0}, value[4:]...)) },
	} {
		r := learning(t)
		report(t, r, benchNow, shown(event.Impression, 1, 1, "p1"))
		var all [][2][]byte
		r.KV.Scan([]byte{0x28}, []byte{0x29}, func(key, value []byte) bool {
			all = append(all, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
			return true
		})
		expect(t, "click rates", len(all), 3)
		for _, x := range all {
			change(r.KV, x[0], x[1])
		}
		if err := r.Queries().Verify(); !errors.Is(err, shard.ErrLearned) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Ranks are refused below their level, and product ids that do not fit into a key at every level.
func TestEventsThatCannotTeachAreRefused(t *testing.T) {
	r := open(t, shardtest.NewKV())
	long := shown(event.Impression, 1, 1, string(make([]byte, 1_021)))
	for _, x := range []struct {
		record command.EventRecord
		level  command.Level
		want   command.Refusal
	}{{shown(event.Impression, 1, 1, "p1"), command.LevelNotices, command.TooEarly}, {long, command.LevelPacing, command.Invalid}} {
		r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: x.level}))
		answer := r.Do(command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: []command.EventRecord{x.record}}))
		expect(t, fmt.Sprint("at level ", x.level), result(t, answer).Refusal, x.want)
	}
	expect(t, "learned", len(r.Queries().ClickRates(1)), 0)
}

// The counts of an hour teach once, whoever repeats them, and in the order of the hours.
func TestAnHourOfTrafficCountsOnce(t *testing.T) {
	r := learning(t)
	hourOf := func(at time.Time) command.Traffic {
		cell, hour := command.CellOf(at.Unix(), 0)
		return command.Traffic{Marketplace: 1, Cell: cell, Hour: hour, Minutes: 60, Auctions: [model.AdFormats]uint64{1_000, 10}}
	}
	refusal := func(x command.Traffic) command.Refusal {
		return result(t, r.Do(command.AppendTraffic(nil, benchNow, &x))).Refusal
	}
	now := time.UnixMilli(benchNow).UTC()
	first := hourOf(now.Add(-2 * time.Hour))
	expect(t, "the first", refusal(first), command.Done)
	once := r.Queries().Traffic(1)
	first.Auctions[0]++
	expect(t, "repeated with another count", refusal(first), command.Done)
	expect(t, "older", refusal(hourOf(now.Add(-3*time.Hour))), command.Done)
	expect(t, "of the future", refusal(hourOf(now.Add(2*time.Hour))), command.Invalid)
	other := hourOf(now)
	other.Marketplace = 9
	expect(t, "of no marketplace", refusal(other), command.NotFound)
	if r.Queries().Traffic(1) != once || once.All.Seen != 1_010 || once.Formats[model.Banner].Seen != 10 {
		t.Errorf("the traffic is %d auctions, was %d", r.Queries().Traffic(1).All.Seen, once.All.Seen)
	}
	expect(t, "the next hour", refusal(hourOf(now.Add(-time.Hour))), command.Done)
	expect(t, "auctions of two hours", r.Queries().Traffic(1).All.Seen, 2_020)
	expect(t, "published after a restart", open(t, r.KV).Feed.Lines(), r.Feed.Lines())
}

// Four weeks in Berlin with traffic at noon teach the hours that clocks show, although the clocks are set back in the
// middle, and the hour that comes twice counts twice.
func TestTrafficFollowsLocalClocks(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	check(t, err)
	r := learning(t)
	end := time.Date(2026, 11, 9, 0, 0, 0, 0, zone)
	for at := end.AddDate(0, 0, -28); at.Before(end); at = at.Add(time.Hour) {
		_, offset := at.Zone()
		cell, hour := command.CellOf(at.Unix(), int64(offset))
		x := command.Traffic{Marketplace: 1, Cell: cell, Hour: hour, Minutes: 60}
		x.Auctions[model.Listing] = 100
		if at.Hour() == 12 {
			x.Auctions[model.Listing] = 100_000
		}
		expect(t, at.String(), result(t, r.Do(command.AppendTraffic(nil, benchNow, &x))).Refusal, command.Done)
	}
	traffic := r.Queries().Traffic(1)
	expect(t, "auctions", traffic.All.Seen, uint64(28*100_000+(28*23+1)*100))
	w := traffic.Weights(model.Listing)
	for hour, weight := range w.Hours {
		if noon := hour%24 == 12; noon != (weight > 10*pacing.WeightOne) {
			t.Errorf("hour %d of the week has the weight %.2f", hour, float64(weight)/pacing.WeightOne)
		}
	}
}
