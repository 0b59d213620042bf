// Package returns simulates weeks of campaigns with a target return on ad spend, to measure how many meet it. It is a
// coarser simulation than that of package virtual, whose days are too short for a loop that learns from purchases: one
// node, one product and bid for each campaign, flat traffic, clicks without delay, and a simple auction of its own. What
// is learned, the base bids and both controllers are the code of a node (shard/learn, shard/pacing).
//
// Run depends on its Config only.
package returns

import (
	"math"
	"math/rand/v2"

	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/money"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// Bids says how campaigns bid.
type Bids uint8

// The ways to bid.
const (
	FullBids    Bids = iota // The bid amount; only the budget lowers it.
	PriorBase               // The base bid with 10 purchases of 100 clicks at the price of the product.
	LearnedBase             // The base bid with what was learned of purchases.
	Steered                 // The same, lowered further by the controller of returns.
	BidsMax     = int(Steered) + 1
)

// String names the way for tables.
func (b Bids) String() string {
	return [BidsMax]string{"full bids", "base bid, prior", "base bid, learned", "gavel"}[b]
}

// Config is what is simulated. Default has values for all members.
type Config struct {
	Seed       uint64
	Campaigns  int
	Categories int // A request is of one, with a probability in proportion to 1/rank^1.1; so is a campaign.
	Requests   int // A day.
	Days       int // The second half is measured.
	Bids       Bids
	// Sure makes every purchase come exactly as often as it is expected to, in fractions, so that chance plays no part.
	Sure bool
}

// Default returns the configuration of the measurements.
func Default() Config {
	return Config{Seed: 1, Campaigns: 400, Categories: 40, Requests: 150_000, Days: 42, Bids: Steered}
}

const (
	daySeconds  = 86_400
	tickSeconds = 60
	dayTicks    = daySeconds / tickSeconds
	slots       = 3
	reserve     = 100_000 // Micros of a click.
	// competes is the probability that a campaign of the category of a request is a candidate.
	competes = 0.35
	// cutDays is the longest time from a click to its purchase.
	cutDays = 30
)

// exposure is how visible the slots are.
var exposure = [slots]float64{1, 0.8, 0.6}

// simulation is one run.
type simulation struct {
	config     *Config
	random     *rand.Rand
	campaigns  []campaign
	byCategory [][]int
	popularity []float64    // Cumulative.
	coming     [][]purchase // By tick.
	format     learn.Purchases
	prior      learn.Prior // Of a product, as it was when the day began.
	params     controller.Params
	curve      *controller.Curve
	tick       int
	candidates []candidate
}

// purchase is one that is on its way.
type purchase struct {
	campaign int
	part     float64 // 1, or with Config.Sure the part of a purchase that is expected.
}

// Run simulates the weeks and returns what the campaigns paid and sold in the second half.
func Run(config *Config) []Result {
	s := &simulation{
		config: config, random: rand.New(rand.NewPCG(config.Seed, 21)), params: controller.Defaults(), curve: controller.Uniform(),
		byCategory: make([][]int, config.Categories), popularity: make([]float64, config.Categories),
		coming: make([][]purchase, (config.Days+cutDays+1)*dayTicks+1),
	}
	s.generate()
	for s.tick = range config.Days * dayTicks {
		if s.tick%dayTicks == 0 {
			s.beginDay()
		}
		s.receive()
		s.steer()
		for range s.arrivals() {
			s.auction()
		}
	}
	results := make([]Result, len(s.campaigns))
	for i := range s.campaigns {
		results[i] = s.campaigns[i].result
	}
	return results
}

// day returns the number of the day; 1 is the first.
func (s *simulation) day() uint32 { return uint32(1 + s.tick/dayTicks) } // A few hundred.

// now returns the time in Unix milliseconds.
func (s *simulation) now() int64 { return int64(daySeconds+s.tick*tickSeconds) * 1000 }

// beginDay renews what is expected of a product of which nothing is known, as at the beginning of a local day.
func (s *simulation) beginDay() {
	s.format.Decay(s.day())
	top := learn.NewPrior(learn.PriorPurchase)
	s.prior = learn.NewPrior(s.format.Rate(&top))
	for i := range s.campaigns {
		c := &s.campaigns[i]
		c.spent = 0
		c.learned.Decay(s.day())
		c.rebase(s)
	}
}

// arrivals draws the number of requests of a tick, from a normal distribution that is close to Poisson's.
func (s *simulation) arrivals() int {
	mean := float64(s.config.Requests) / dayTicks
	return max(0, int(math.Round(mean+math.Sqrt(mean)*s.random.NormFloat64())))
}

// click lets an ad of a campaign be clicked at a price, and draws whether and when that leads to a purchase.
func (s *simulation) click(i int, price int64) {
	c := &s.campaigns[i]
	price = min(price, c.budget-c.spent)
	if price <= 0 {
		return
	}
	c.spent += price
	c.totals.Clicks++
	c.totals.Spend += money.Micros(price)
	c.learned.Click(s.day())
	s.format.Click(s.day())
	c.measure(s, func(r *Result) { r.Clicks++; r.Spend += float64(price) })
	part := 1.0
	switch bought := s.random.Float64() < c.rate; {
	case s.config.Sure:
		part = c.rate
	case !bought:
		return
	}
	c.measure(s, func(r *Result) { r.Purchases += part; r.Value += part * c.worth })
	at := s.tick + 1 + int(s.delay()/tickSeconds)
	s.coming[at] = append(s.coming[at], purchase{i, part})
}

// delay draws the seconds from a click to its purchase.
func (s *simulation) delay() float64 {
	u := s.random.Float64()
	for _, part := range s.params.PurchaseDelay {
		if u -= part.Share; u >= 0 {
			continue
		}
		for {
			if d := s.random.ExpFloat64() * part.Mean; d < cutDays*daySeconds {
				return d
			}
		}
	}
	return 0
}

// receive credits the purchases that come in this tick.
func (s *simulation) receive() {
	for _, p := range s.coming[s.tick] {
		c := &s.campaigns[p.campaign]
		value := micros(p.part * c.worth)
		c.totals.Value += value
		c.sold += p.part
		c.totals.Purchases = uint64(c.sold)
		for _, cell := range []*learn.Purchases{&c.learned, &s.format} {
			cell.Add(s.day(), true, value)
			cell.New.Purchases += uint64(p.part * learn.One)
		}
		c.learned.Settle()
		c.rebase(s)
	}
	s.coming[s.tick] = nil
}
