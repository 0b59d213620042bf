package market

import (
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/shard/model"
)

// The numbers of months and weeks over two centuries agree with package time.
func TestPeriodNumbers(t *testing.T) {
	for day := range uint32(80_000) {
		at := time.Unix(int64(day)*86_400, 0).UTC()
		if got, want := monthOf(day), uint32(at.Year()*12)+uint32(at.Month()); got != want {
			t.Fatalf("%v: month %d, want %d", at, got, want)
		}
	}
	if periodNumber(model.Weekly, 4*86_400_000) != periodNumber(model.Weekly, 11*86_400_000-1) || periodNumber(model.Weekly, 4*86_400_000-1) == periodNumber(model.Weekly, 4*86_400_000) {
		t.Error("weeks do not begin on Monday, 1970-01-05")
	}
}

// Counts are kept by user, campaign or bid, interaction and period, and only for what a cap limits.
func TestExposuresAreCounted(t *testing.T) {
	m := New(1)
	c := &model.Campaign{Ordinal: 3, Group: 2, Caps: []model.Cap{{Type: 1, Limit: 5}, {Type: 14, Limit: 1}, {Type: 3, Limit: 1}}}
	const today = 20_778
	meet := func(user uint64, bid uint32, what model.CapInteraction) {
		m.RecordExposure(c, &Exposure{User: user, Bid: bid, Interaction: what, Day: today, Week: (today + 3) / 7, Month: monthOf(today)})
	}
	if m.Count(FrequencyQuery{User: 1}) != 0 {
		t.Error("something is counted before anything happened")
	}
	meet(1, 7, model.CapImpressions)
	meet(1, 8, model.CapImpressions)
	meet(1, 7, model.CapClicks)
	meet(2, 7, model.CapImpressions)
	for _, x := range []struct {
		user, bid uint32
		what      model.CapInteraction
		period    model.Period
		day       int64
		want      uint32
	}{
		{1, 0, model.CapImpressions, model.Daily, today, 2},
		{2, 0, model.CapImpressions, model.Daily, today, 1},
		{1, 0, model.CapImpressions, model.Daily, today + 1, 0},
		{1, 0, model.CapImpressions, model.Monthly, today + 1, 2},
		{1, 0, model.CapImpressions, model.Weekly, today, 0}, // No cap limits it.
		{1, 7, model.CapClicks, model.Weekly, today, 1},
		{1, 8, model.CapClicks, model.Weekly, today, 0},
		{3, 0, model.CapImpressions, model.Daily, today, 0},
	} {
		q := FrequencyQuery{
			User: uint64(x.user), Group: 2, Campaign: 3, Bid: x.bid, Interaction: x.what, Period: x.period, LocalMillis: x.day * 86_400_000,
		}
		if got := m.Count(q); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}

// A full bucket drops the counts that end first, and a count read beside writers is never too high.
func TestFullBucketDropsTheOldestExposure(t *testing.T) {
	x := &exposureCounts{}
	for i := range uint64(2 * exposureWays) {
		key := 5 + i*exposureBuckets
		for range 3 {
			x.add(key, uint32(i))
		}
	}
	for i := range uint64(2 * exposureWays) {
		want := uint32(0)
		if i >= exposureWays {
			want = 3
		}
		if got := x.get(5 + i*exposureBuckets); got != want {
			t.Errorf("key %d: %d, want %d", i, got, want)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(20_000) {
			x.add(9+i%(2*exposureWays)*exposureBuckets, uint32(i))
		}
	})
	for range 20_000 {
		if x.get(9) > 20_000/(2*exposureWays) {
			t.Fatal("a count is too high")
		}
	}
	wg.Wait()
}
