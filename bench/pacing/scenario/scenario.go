// Package scenario generates one day of a marketplace for the pacing simulator: campaigns with budgets, and requests
// with the campaigns that may win them and the probability that a shopper clicks. A day depends on its Config only,
// seed included, so that every policy is measured on the same campaigns, requests and clicks.
//
// Each distribution is a fit to published figures or an assumption; the comment of each member of Config names which.
// No third-party traffic is contained. The package imports nothing of the marketplace: a recorded day of a real node
// becomes the same Day (package record).
package scenario

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Config holds every assumption of the generator. Times are milliseconds from local midnight.
type Config struct {
	Seed      uint64
	Number    int // Of the day: the campaigns are those of the seed on every day, all else is new.
	Campaigns int
	Requests  int // Mean number of requests of the day.

	Categories     int     // Assumption: 40 for hundreds of campaigns, 200 for thousands.
	ZipfExponent   float64 // Popularity of categories, for campaigns and for requests. Assumption.
	CandidatesMean float64 // Mean number of campaigns that compete for a request. Lahaie and Pennock 2007 saw 13 bidders.
	Slots          int     // Of a listing request; a banner has one.
	VendorShare    float64 // Vendors per campaign. Assumption.

	ClickRate      float64 // Mean click rate of a campaign in the first slot: 0.03 search, 0.004 shop, 0.00075 banner (published means).
	ClickRateShape float64 // First parameter of the Beta distribution of click rates. Lahaie and Pennock 2007: 2.71.
	PredictorError float64 // Standard deviation of the logarithm of the marketplace's quality score around the truth. AuctionNet 2024: 0.15.

	BidMedian   float64 // Per click, in units of the currency. Walmart and Amazon 2022: 0.8.
	BidSigma    float64 // Of the logarithm. Lahaie and Pennock 2007: 0.71.
	Correlation float64 // Of bid and click rate (Gaussian copula). Lahaie and Pennock 2007: 0.4.
	BannerShare float64 // Share of campaigns that pay per thousand impressions; they compete for banners. Assumption.
	Reserve     float64 // Per click. Walmart 2022 has 0.20 to 0.30.
	ReserveCPM  float64 // Per thousand impressions.

	BudgetClicks    float64 // Median budget of a day, in clicks at ClickPrice. DataHawk 2022: sigma below.
	BudgetSigma     float64
	BudgetClicksMin float64

	Profile      Profile // Shape of the day.
	ShapeNoise   float64 // Each two hours are multiplied by a uniform value of 1 plus or minus this. AuctionNet 2024: 0.4.
	LevelNoise   float64 // The day's level is 1 plus or minus this, uniform. Assumption.
	SurgeFactor  float64 // Traffic of the surge; 1: none.
	SurgeFrom    int64   // Milliseconds.
	SurgeLength  int64
	ExternalRate float64 // Share of listing requests with one to three external bids. Assumption.

	DelayMean      float64 // Mean milliseconds from an auction to its click. Assumption.
	DelaySlowShare float64 // Share of clicks with the slow mean. Assumption.
	DelaySlowMean  float64
	LateShare      float64 // Share of clicks that are uniformly late by up to 30 days.

	EditShare float64 // Share of campaigns whose budget is doubled or halved at a uniform time. Assumption.
}

// Hour is an hour in milliseconds, DayMillis a day.
const (
	Hour      = int64(3_600_000)
	DayMillis = 24 * Hour
)

// Default returns the assumptions of the documented comparison, with 750 requests for each campaign.
func Default(seed uint64, campaigns int) Config {
	c := Config{
		Seed: seed, Campaigns: campaigns, Requests: 750 * campaigns,
		Categories: 40, ZipfExponent: 1.1, CandidatesMean: 8, Slots: 3, VendorShare: 1. / 3,
		ClickRate: 0.03, ClickRateShape: 2.71, PredictorError: 0.15,
		BidMedian: 0.8, BidSigma: 0.71, Correlation: 0.4, BannerShare: 0.2, Reserve: 0.10, ReserveCPM: 1,
		BudgetClicks: 20, BudgetSigma: 1.5, BudgetClicksMin: 5,
		Profile: TwoPeaks, ShapeNoise: 0.4, LevelNoise: 0.15, SurgeFactor: 1, ExternalRate: 0.2,
		DelayMean: 20_000, DelaySlowShare: 0.1, DelaySlowMean: 300_000, LateShare: 0.01,
	}
	if campaigns > 1000 {
		c.Categories = 200
	}
	return c
}

// Limits of a generated day. BOUND: its candidates, 16 bytes each, are in memory.
const (
	campaignsMax = 100_000
	requestsMax  = 20_000_000
	slotsMax     = 40
)

// Validate returns every fault of the configuration, joined.
func (c *Config) Validate() error {
	var faults []error
	in := func(name string, value, least, most float64) {
		if !(value >= least && value <= most) { // Also refuses what is not a number.
			faults = append(faults, fmt.Errorf("%s is %g; it must be from %g to %g", name, value, least, most))
		}
	}
	in("campaigns", float64(c.Campaigns), 1, campaignsMax)
	in("requests", float64(c.Requests), 1, requestsMax)
	in("categories", float64(c.Categories), 1, 10_000)
	in("candidates", c.CandidatesMean, 0.1, 200)
	in("slots", float64(c.Slots), 1, slotsMax)
	in("click rate", c.ClickRate, 1e-6, 0.3)
	in("predictor error", c.PredictorError, 0, 2)
	in("bid", c.BidMedian, 0.01, 1e6)
	in("correlation", c.Correlation, -0.99, 0.99)
	in("banner share", c.BannerShare, 0, 1)
	in("budget", c.BudgetClicks, 0.1, 1e9)
	in("shape noise", c.ShapeNoise, 0, 1)
	in("level noise", c.LevelNoise, 0, 0.9)
	in("surge factor", c.SurgeFactor, 0, 100)
	in("external rate", c.ExternalRate, 0, 1)
	in("click delay", c.DelayMean, 1, 1e9)
	in("slow click delay", c.DelaySlowMean, 1, 1e9)
	in("slow share", c.DelaySlowShare, 0, 1)
	in("late share", c.LateShare, 0, 1)
	in("edit share", c.EditShare, 0, 1)
	return errors.Join(faults...)
}

// Day is what happens on one day, whatever the policy does.
type Day struct {
	Seed      uint64
	Config    *Config // What it was generated from; nil for a recorded day.
	Campaigns []Campaign
	Offers    []Offer   // Bids of the campaigns. Offer i of a generated day is the only one of campaign i.
	Requests  []Request // In order of time.
	// Candidates of all requests, one request after the other; see Of.
	Candidates []Candidate
	External   []External // Of all requests, in order of the request's index.
	Edits      []Edit     // In order of time.
	Slots      int
	Reserve    [2]int64   // Reserve price in micros, of a listing and of a banner.
	Forecast   [24]uint32 // Expected traffic of each hour, as a marketplace has learned it; any unit.
	Expected   [2]float64 // Expected requests of the day, for listings and for banners; 0: not known.
	Delays     Delays
}

// Offer is a bid of a campaign on a product that no other offer is on.
type Offer struct {
	Campaign int32
	Bid      int64 // Micros, per click or per thousand impressions.
}

// Campaign is one campaign.
type Campaign struct {
	Banner      bool  // Pays per thousand impressions and competes for banners; otherwise per click, for listings.
	Bid         int64 // The highest of its offers.
	Budget      int64 // Micros of the day.
	Category    int
	Vendor      int
	ClickRate   float64 // True mean in the first slot.
	StartMillis int64
	EndMillis   int64
	ID          string // Name in results; empty for a generated one, whose name is its number.
}

// ClickPrice is what a click is assumed to cost without pacing, as a share of the bid, where budgets are expressed in
// clicks. In the generated market it is 0.4 to 0.6.
const ClickPrice = 0.5

// Clicks returns how many clicks the budget pays for without pacing.
func (c *Campaign) Clicks() float64 {
	clicks := float64(c.Budget) / (ClickPrice * float64(c.Bid))
	if c.Banner {
		return clicks * 1000 * c.ClickRate
	}
	return clicks
}

// Value returns what an impression of a candidate is worth to its campaign in a slot of some visibility, in micros.
func (d *Day) Value(c *Candidate, visibility float64) float64 {
	bid := float64(d.Offers[c.Offer].Bid)
	if d.Campaigns[c.Campaign].Banner {
		return bid / 1000 * visibility
	}
	return bid * float64(c.Click) * visibility
}

// Request is one auction.
type Request struct {
	Millis int64 // Since midnight.
	First  uint32
	Banner bool
	Slots  uint8 // 0: those of the day, or one for a banner.
}

// SlotsOf returns how many ads a request shows.
func (d *Day) SlotsOf(q *Request) int {
	switch {
	case q.Slots > 0:
		return int(q.Slots)
	case q.Banner:
		return 1
	}
	return d.Slots
}

// Candidate is an offer that may win a request.
type Candidate struct {
	Campaign int32 // That of the offer.
	Offer    int32
	Quality  uint32  // The marketplace's score, in units of 1/2^30.
	Click    float32 // True probability of a click in the first slot.
}

// External is a bid of another demand source.
type External struct {
	Request int32
	Quality uint32
	Bid     int64
	Click   float32
}

// Edit is a change of a campaign's budget.
type Edit struct {
	Millis   int64
	Campaign int32
	Budget   int64
}

// Of returns the candidates of a request.
func (d *Day) Of(request int) []Candidate {
	end := uint32(len(d.Candidates)) // A day has fewer than 2^32.
	if request+1 < len(d.Requests) {
		end = d.Requests[request+1].First
	}
	return d.Candidates[d.Requests[request].First:end]
}

// New generates a day. REQUIRES: c is valid.
func New(c *Config) *Day {
	d := &Day{
		Seed: c.Seed + uint64(c.Number)<<32, Config: c, Slots: c.Slots,
		Reserve: [2]int64{micros(c.Reserve), micros(c.ReserveCPM)},
		Delays:  Delays{Mean: c.DelayMean, SlowShare: c.DelaySlowShare, SlowMean: c.DelaySlowMean, LateShare: c.LateShare},
	}
	d.campaigns(c, stream(c.Seed, 1))
	own := uint64(c.Number) * 10 // Small numbers of days.
	d.edits(c, stream(c.Seed, own+2))
	d.traffic(c, stream(c.Seed, own+3))
	d.candidates(c, stream(c.Seed, own+4))
	return d
}

// stream returns one of the independent random sources of a seed.
func stream(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }

func micros(units float64) int64 { return int64(math.Round(units * 1e6)) }
