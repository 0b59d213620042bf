package campaign

import (
	"math"
	"time"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Forecast is the expected result of a campaign, and the data that it is based on.
type Forecast struct {
	Recorded ForecastRecorded `json:"recorded"`
	Won      int              `json:"won" doc:"How many of the recorded auctions the campaign would have won."`
	Reason   *string          `json:"reason" enum:"not_recording,no_auctions,too_short" doc:"Why perDay is null: this node records no auctions (explain.sample), it has recorded none of this marketplace, or less than a minute of them."`
	PerDay   *ForecastPerDay  `json:"perDay" doc:"Extrapolated from the rate of the recorded auctions, without regard to the hour of the day."`
	Rates    ForecastRates    `json:"rates"`
	// Confidence is the confidence of every interval.
	Confidence int `json:"confidence" doc:"Confidence of all intervals, in percent. They cover the uncertainty of the sample, not changes of traffic, competition or budgets."`
}

// ForecastRecorded describes the sample of recorded auctions.
type ForecastRecorded struct {
	From     resource.Time `json:"from"`
	To       resource.Time `json:"to"`
	Every    uint64        `json:"every" doc:"One in this many requests is recorded, at random; 0: none."`
	Requests int           `json:"requests" doc:"Recorded requests of this marketplace on this node. Other nodes have their own."`
	Auctions int           `json:"auctions"`
	Omitted  int           `json:"omitted" doc:"Requests that were sampled, but are too large to store or no longer valid. The forecast treats them like the others."`
}

// ForecastPerDay is the expected result of a day. Bids are lowered so that the budget lasts, as pacing does. A total budget that is not
// spread evenly is spent as soon as possible: a campaign that reaches it stops for the rest of the day.
type ForecastPerDay struct {
	Wins            ForecastEstimate  `json:"wins"`
	Impressions     ForecastEstimate  `json:"impressions" doc:"Wins that shoppers see, according to view_percent."`
	Clicks          *ForecastEstimate `json:"clicks" doc:"Null if the marketplace has no impressions, from which the rate is taken."`
	Spend           *ForecastEstimate `json:"spend" doc:"Minor units, at second prices unless the campaign has priceRule first. Null if a rate that it needs is unknown."`
	LimitedByBudget bool              `json:"limitedByBudget" doc:"True if the budget, spread over its period, is less than the campaign could spend."`
	BidMultiplier   float64           `json:"bidMultiplier" doc:"The factor by which pacing would lower the bids so that the budget lasts; all other numbers are with these bids. 1: not at all, or the budget is spent as soon as possible."`
}

// ForecastEstimate is a number with the bounds of its confidence interval.
type ForecastEstimate struct {
	Expected int64 `json:"expected"`
	Low      int64 `json:"low"`
	High     int64 `json:"high"`
}

// ForecastRates are the counts of the last 30 days from which rates are taken.
type ForecastRates struct {
	Of          string `json:"of" enum:"campaign,marketplace" doc:"campaign if the campaign had at least 1,000 impressions, else marketplace, which is all campaigns."`
	Impressions int64  `json:"impressions"`
	Clicks      int64  `json:"clicks"`
	Purchases   int64  `json:"purchases"`
}

type rates struct {
	of                             string
	impressions, clicks, purchases int64
}

// forecastAmountMax bounds bids, so that multiplying them by percents cannot overflow. No amount of the interface is larger.
const forecastAmountMax = money.Micros(math.MaxInt64 / 1_000)

// estimator computes the numbers of a day from a replay.
//
// Each sampled request represents Every requests, and the recorded time represents the whole day. The price of a win is known; whether
// it is paid is known only as a rate. So spend is a sum of prices times rates. If each of n factors is known with a confidence of 1-a/n,
// their product is known with a confidence of at least 1-a (Bonferroni); that is how intervals are multiplied.
type estimator struct {
	campaign *model.Campaign
	bids     []model.Bid
	replay   *serving.Replay
	rates    rates
	seen     float64
	exponent uint8

	multiplier float64 // The factor of the bids in the replay.
	overBudget bool    // The full bids would spend more than the budget.
	// above is a replay with a slightly larger factor, which spends more than the budget; nil: none.
	above           *serving.Replay
	aboveMultiplier float64
}

// numbersPerDay are the estimates of a day.
type numbersPerDay struct {
	wins          interval
	clicks, spend *interval // Nil if a rate is unknown.
}

func (e *estimator) numbers() numbersPerDay { return numbersPerDay{e.wins(1), e.clicks(), e.spend()} }

func (e *estimator) forecast() Forecast {
	r := e.replay
	f := Forecast{
		Recorded: ForecastRecorded{
			From: resource.Time(r.From.UnixMilli()), To: resource.Time(r.To.UnixMilli()),
			Every: r.Every, Requests: r.Requests, Auctions: r.Auctions, Omitted: r.Omitted,
		},
		Rates:      ForecastRates{e.rates.of, e.rates.impressions, e.rates.clicks, e.rates.purchases},
		Confidence: confidence,
	}
	for _, w := range r.Won {
		f.Won += w.Wins
	}
	switch {
	case r.Every == 0:
		f.Reason = new("not_recording")
	case r.Requests == 0:
		f.Reason = new("no_auctions")
	case r.To.Sub(r.From) < spanMin:
		f.Reason = new("too_short")
	default:
		f.PerDay = new(e.perDay())
	}
	return f
}

// levelOf is the confidence that each of n factors needs, as a fraction.
func levelOf(n int) float64 { return 1 - (1-confidence/100.0)/float64(n) }

func (e *estimator) perDay() ForecastPerDay {
	d := ForecastPerDay{}
	budget := e.budgetPerDay()
	n := e.perDayPaced(budget)
	clicks, spend := n.clicks, n.spend
	limit := func(x interval) interval { return x }
	if spend != nil && spend.high > budget {
		limit = func(x interval) interval { return limited(x, *spend, budget) }
		d.LimitedByBudget = spend.expected > budget
	}
	d.LimitedByBudget = d.LimitedByBudget || e.overBudget
	d.BidMultiplier = math.Round(e.multiplier*100) / 100
	d.Wins, d.Impressions = limit(n.wins).rounded(), limit(n.wins.scaled(e.seen)).rounded()
	if clicks != nil {
		d.Clicks = new(limit(*clicks).rounded())
	}
	if spend != nil {
		d.Spend = new(interval{min(spend.expected, budget), min(spend.low, budget), min(spend.high, budget)}.rounded())
	}
	return d
}

// limited reduces an estimate to what the budget allows. The cost of one unit is as uncertain as the two estimates: with a high cost
// the budget ends early in the day, with a low cost late.
func limited(x, spend interval, budget float64) interval {
	lasts := func(count, spent float64) float64 {
		if spent == 0 {
			return math.Inf(1)
		}
		return budget * count / spent
	}
	few, many := lasts(x.low, spend.low), lasts(x.high, spend.high)
	expected := lasts(x.expected, spend.expected)
	return interval{
		expected: min(x.expected, expected),
		low:      min(x.low, few, expected, many),
		high:     min(x.high, max(few, expected, many)),
	}
}

func (x interval) rounded() ForecastEstimate {
	return ForecastEstimate{int64(math.Round(x.expected)), int64(math.Floor(x.low)), int64(math.Ceil(x.high))}
}

// wins estimates the wins of a day, as one of n factors.
func (e *estimator) wins(n int) interval {
	weights := make([]float64, len(e.replay.Won))
	for i, w := range e.replay.Won {
		weights[i] = float64(w.Wins)
	}
	return total(weights, e.auctions(), levelOf(n)).scaled(e.dailyFactor())
}

// dailyFactor is how many requests of a day a replayed request represents. Sampled requests that could not be replayed are assumed to
// be like the others.
func (e *estimator) dailyFactor() float64 {
	r := e.replay
	sampled := float64(r.Requests+r.Omitted) / float64(r.Requests)
	return float64(r.Every) * sampled * float64(24*time.Hour) / float64(r.To.Sub(r.From))
}

func (e *estimator) clicks() *interval {
	if e.rates.impressions == 0 {
		return nil
	}
	return new(e.wins(2).scaled(e.seen).times(e.clickRate(2)))
}

func (e *estimator) clickRate(n int) interval {
	return share(float64(min(e.rates.clicks, e.rates.impressions)), float64(e.rates.impressions), levelOf(n))
}

// spend estimates the cost of a day in minor units. It is nil if a rate that it needs is unknown.
func (e *estimator) spend() *interval {
	minor := 1 / math.Pow10(6-int(e.exponent))
	switch {
	case e.campaign.Charge == model.CPM:
		return new(e.paid(1).scaled(minor * e.seen / 1_000))
	case e.rates.impressions == 0:
		return nil
	case e.campaign.Charge == model.CPC:
		return new(e.paid(2).scaled(minor * e.seen).times(e.clickRate(2)))
	case e.rates.clicks == 0:
		return nil
	default:
		bought := share(float64(min(e.rates.purchases, e.rates.clicks)), float64(e.rates.clicks), levelOf(3))
		return new(e.paid(3).scaled(minor * e.seen).times(e.clickRate(3)).times(bought))
	}
}

// paid estimates the sum of the prices of a day's wins, in micros, as one of n factors.
func (e *estimator) paid(n int) interval {
	weights := make([]float64, len(e.replay.Won))
	for i, w := range e.replay.Won {
		weights[i] = float64(w.Paid)
	}
	most := 0.0
	for i := range e.bids {
		most = max(most, float64(e.bids[i].Amount))
	}
	return total(weights, most*e.auctions(), levelOf(n)).scaled(e.dailyFactor())
}

// auctions is the mean number of auctions in a request: the most wins that a request which is not in the sample is assumed to have.
func (e *estimator) auctions() float64 {
	return float64(e.replay.Auctions) / float64(e.replay.Requests)
}

// budgetPerDay is the budget of a day in minor units, or infinity without one. A total budget that is spent as soon as possible may be
// spent on one day.
func (e *estimator) budgetPerDay() float64 {
	const day = float64(24 * time.Hour / time.Millisecond)
	c := e.campaign
	if c.Budget == 0 {
		return math.Inf(1)
	}
	days := 1.0
	switch c.Period {
	case model.Daily:
	case model.Weekly:
		days = 7
	case model.Monthly:
		days = 30
	case model.Total:
		if isPaced(c) {
			days = max(1, float64(c.EndMillis-c.StartMillis)/day)
		}
	}
	return float64(c.Budget) / math.Pow10(6-int(e.exponent)) / days
}
