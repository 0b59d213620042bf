package scenario_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/bench/pacing/scenario"
)

// sample returns the mean and the standard deviation of values.
func sample(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, math.Sqrt(deviation)
}

// near fails unless a value is within a tolerance of what is expected.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %g, want %g plus or minus %g", what, got, want, tolerance)
	}
}

// The campaigns have the distributions that Config states. The tolerances are four standard errors of 20,000 values.
func TestCampaigns(t *testing.T) {
	c := scenario.Default(1, 20_000)
	c.Requests, c.BudgetClicksMin = 1, 0
	d := scenario.New(&c)
	var bids, clicks, rates, products []float64
	banners := 0.
	for i := range d.Campaigns {
		x := &d.Campaigns[i]
		rates = append(rates, x.ClickRate)
		if x.Banner {
			banners++
			continue
		}
		bids = append(bids, math.Log(float64(x.Bid)/1e6))
		clicks = append(clicks, math.Log(x.Clicks()))
	}
	mean, deviation := sample(bids)
	near(t, "mean logarithm of bids", mean, math.Log(0.8), 0.023)
	near(t, "its deviation", deviation, 0.71, 0.017)
	mean, deviation = sample(clicks)
	near(t, "mean logarithm of budgets in clicks", mean, math.Log(20), 0.05)
	near(t, "its deviation", deviation, 1.5, 0.035)
	mean, deviation = sample(rates)
	a, b := 2.71, 2.71*(1/0.03-1)
	near(t, "mean click rate", mean, 0.03, 0.0006)
	near(t, "its deviation", deviation, math.Sqrt(a*b/(a+b)/(a+b)/(a+b+1)), 0.0006)
	near(t, "share of banners", banners/20_000, 0.2, 0.012)

	logs := make([]float64, 0, len(bids))
	for i := range d.Campaigns {
		if x := &d.Campaigns[i]; !x.Banner {
			logs = append(logs, math.Log(x.ClickRate))
		}
	}
	mean, deviation = sample(logs)
	meanBid, deviationBid := sample(bids)
	for i := range bids {
		products = append(products, (bids[i]-meanBid)*(logs[i]-mean)/deviation/deviationBid)
	}
	correlation, _ := sample(products)
	near(t, "correlation of the logarithms of bid and click rate", correlation, 0.4, 0.03)
}

// The smallest budget is that of the configuration, up to rounding to micros.
func TestBudgetMinimum(t *testing.T) {
	c := scenario.Default(2, 2000)
	c.Requests, c.BudgetClicks = 1, 1
	d := scenario.New(&c)
	for i := range d.Campaigns {
		if x := &d.Campaigns[i]; !x.Banner && x.Bid > 10_000 && x.Clicks() < c.BudgetClicksMin-1e-3 {
			t.Fatalf("campaign %d has a budget of %g clicks", i, x.Clicks())
		}
	}
}

// Without noise the requests follow the profile, whose peaks and troughs are those of the published data.
func TestTraffic(t *testing.T) {
	for _, shape := range []struct {
		profile      scenario.Profile
		peak, trough float64 // Relative to the mean hour.
	}{{scenario.OnePeak, 1.76, 0.19}, {scenario.TwoPeaks, 1.7, 0.15}, {scenario.Flat, 1, 1}} {
		c := scenario.Default(3, 10)
		c.Requests, c.ShapeNoise, c.LevelNoise, c.Profile = 200_000, 0, 0, shape.profile
		d := scenario.New(&c)
		near(t, "number of requests", float64(len(d.Requests)), 200_000, 4*math.Sqrt(200_000))
		var hours, forecast [24]float64
		sum := 0.
		for i := range d.Requests {
			hours[d.Requests[i].Millis/scenario.Hour] += 24 / float64(len(d.Requests))
		}
		for hour, weight := range d.Forecast {
			forecast[hour] = float64(weight)
			sum += float64(weight)
		}
		for hour := range hours {
			near(t, "traffic of an hour against its forecast", hours[hour], forecast[hour]/sum*24, 0.06)
		}
		near(t, "peak hour", slices.Max(hours[:]), shape.peak, 0.12)
		near(t, "quietest hour", slices.Min(hours[:]), shape.trough, 0.06)
		if !slices.IsSortedFunc(d.Requests, func(a, b scenario.Request) int { return int(a.Millis - b.Millis) }) {
			t.Error("requests are not in order of time")
		}
	}
}

// A surge multiplies the traffic of its time.
func TestSurge(t *testing.T) {
	c := scenario.Default(4, 10)
	c.Requests, c.ShapeNoise, c.LevelNoise, c.Profile = 240_000, 0, 0, scenario.Flat
	c.SurgeFrom, c.SurgeLength, c.SurgeFactor = 12*scenario.Hour, scenario.Hour, 5
	d := scenario.New(&c)
	var hours [24]float64
	for i := range d.Requests {
		hours[d.Requests[i].Millis/scenario.Hour]++
	}
	near(t, "requests of an hour", hours[11], 10_000, 400)
	near(t, "requests of the surge", hours[12], 50_000, 900)
}

// The number of candidates has the configured mean, and a candidate's click probability has the campaign's rate as its
// mean over many requests and categories.
func TestCandidates(t *testing.T) {
	c := scenario.Default(5, 400)
	c.Requests = 100_000
	d := scenario.New(&c)
	near(t, "mean number of candidates", float64(len(d.Candidates))/float64(len(d.Requests)), 8, 0.3)
	ratio, quality, n := 0., 0., 0.
	for i := range d.Requests {
		for _, x := range d.Of(i) {
			if d.Campaigns[x.Campaign].Banner != d.Requests[i].Banner {
				t.Fatal("a campaign of another format competes")
			}
			ratio += float64(x.Click) / d.Campaigns[x.Campaign].ClickRate
			if !d.Requests[i].Banner {
				quality += math.Log(float64(x.Quality) / (1 << 30) * 0.5 / float64(x.Click))
				n++
			}
		}
	}
	// The factors of categories are few, so their mean is less certain: 0.29/sqrt(about 60 effective ones).
	near(t, "click probability / click rate", ratio/float64(len(d.Candidates)), 1, 0.15)
	near(t, "bias of the logarithm of the quality score", quality/n, 0, 0.002)
}

// Clicks have the probability and the delays of the configuration, and a better slot never loses a click.
func TestClicks(t *testing.T) {
	c := scenario.Default(6, 1)
	c.Requests, c.LateShare = 1, 0
	d := scenario.New(&c)
	const n = 200_000
	candidate := scenario.Candidate{Click: 0.2}
	var first, third float64
	var delays []float64
	for i := range n {
		after, top := d.Click(i, &candidate, 1)
		_, low := d.Click(i, &candidate, 0.6)
		if low && !top {
			t.Fatal("a click of the third slot is none in the first")
		}
		if top {
			first++
			delays = append(delays, float64(after))
		}
		if low {
			third++
		}
	}
	near(t, "click rate of the first slot", first/n, 0.2, 0.004)
	near(t, "click rate of the third slot", third/n, 0.12, 0.003)
	mean, _ := sample(delays)
	near(t, "mean delay", mean, 0.9*20_000+0.1*300_000, 3000)
}

// A day depends on its configuration only. Another number is another day of the same campaigns.
func TestDeterminism(t *testing.T) {
	dayOf := func(seed uint64, number int) *scenario.Day {
		c := scenario.Default(seed, 50)
		c.Number, c.EditShare = number, 0.5
		d := scenario.New(&c)
		d.Config = nil
		return d
	}
	one := dayOf(7, 0)
	if !reflect.DeepEqual(one, dayOf(7, 0)) {
		t.Error("the same seed gives another day")
	}
	if reflect.DeepEqual(one.Requests, dayOf(8, 0).Requests) {
		t.Error("another seed gives the same requests")
	}
	next := dayOf(7, 1)
	if !reflect.DeepEqual(one.Campaigns, next.Campaigns) || reflect.DeepEqual(one.Requests, next.Requests) {
		t.Error("the next day has other campaigns, or the same requests")
	}
}

// Every value out of range is refused, all at once.
func TestValidate(t *testing.T) {
	c := scenario.Default(1, 0)
	c.Slots, c.ClickRate, c.LateShare = 41, math.NaN(), -1
	err := c.Validate()
	for _, name := range []string{"campaigns", "slots", "click rate", "late share"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q is missing in %v", name, err)
		}
	}
	if c := scenario.Default(1, 400); c.Validate() != nil {
		t.Error(c.Validate())
	}
}
