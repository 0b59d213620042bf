package returns

import (
	"math"

	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/money"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// campaign is a campaign with a target return, one product and one bid.
type campaign struct {
	amount int64 // Of the bid, in micros for a click.
	budget int64 // Of a day.
	target uint32
	price  money.Micros // Of the product, as the catalog has it.
	ctr    float64
	rate   float64 // Purchases of a click.
	worth  float64 // Of a purchase, in micros.

	base    int64
	pass    float64
	factor  float64
	pace    controller.State
	served  controller.Served
	returns controller.Returns
	totals  controller.Totals
	sold    float64
	learned learn.Purchases

	spent  int64
	result Result
}

// generate draws the campaigns: bids and click rates as in package scenario, budgets
// three times as large, purchase rates with a mean of
// 10 % (Beta with the shape of click rates), targets of 2 to 6, and prices with which the base bid of the prior is
// lognormal(ln 0.3, 0.5) of the bid amount, so that most targets bind. A purchase is worth 0.7 to 1.6 prices, because people buy other products of
// the vendor as well, and several pieces.
func (s *simulation) generate() {
	r, sum := s.random, 0.
	for i := range s.popularity {
		sum += math.Pow(float64(i+1), -1.1)
		s.popularity[i] = sum
	}
	for i := range s.popularity {
		s.popularity[i] /= sum
	}
	s.campaigns = make([]campaign, s.config.Campaigns)
	for i := range s.campaigns {
		c := &s.campaigns[i]
		bid := 0.8 * math.Exp(0.71*r.NormFloat64())
		c.amount = max(150_000, int64(bid*1e6))
		c.budget = int64(max(5, 60*math.Exp(1.5*r.NormFloat64())) * bid * 1e6 / 2)
		c.ctr = 0.03 * s.gamma(2.71) / 2.71
		c.rate = min(0.45, 0.1*s.gamma(2.71)/2.71)
		c.target = uint32(2_000 + r.IntN(4_001))
		c.price = micros(float64(c.amount) * 0.3 * math.Exp(0.5*r.NormFloat64()) * float64(c.target) / 1000 / 0.1)
		c.worth = float64(c.price) * (0.7 + 0.9*r.Float64())
		c.totals.TargetMilli, c.factor, c.pass = c.target, 1, 1
		in := s.category()
		s.byCategory[in] = append(s.byCategory[in], i)
	}
}

// gamma draws from the Gamma distribution of a shape (Marsaglia and Tsang 2000), whose mean is the shape. With a mean
// far below 1, a Beta distribution is nearly this.
func (s *simulation) gamma(shape float64) float64 {
	d := shape - 1./3
	for {
		x := s.random.NormFloat64()
		v := 1 + x/math.Sqrt(9*d)
		if v = v * v * v; v > 0 && math.Log(s.random.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

func (s *simulation) category() int {
	u := s.random.Float64()
	for i, p := range s.popularity {
		if u < p {
			return i
		}
	}
	return len(s.popularity) - 1
}

func micros(v float64) money.Micros { return money.Micros(math.Round(v)) }

// rebase computes the base bid, as market.Market does where a row of auctions is written.
func (c *campaign) rebase(s *simulation) {
	rate, worth := uint32(learn.PriorPurchase), c.price
	switch s.config.Bids {
	case FullBids:
		c.base = c.amount
		return
	case PriorBase:
	default:
		rate, worth = c.learned.Rate(&s.prior), c.learned.Worth(c.price)
	}
	c.base = int64(controller.ReturnBid(rate, worth, money.Micros(c.amount), c.target))
}

// steer makes the tick of all campaigns.
func (s *simulation) steer() {
	start := s.now() - int64(s.tick%dayTicks*tickSeconds)*1000
	for i := range s.campaigns {
		c := &s.campaigns[i]
		plan := controller.Plan{
			Mode: controller.Even, Budget: money.Micros(c.budget), Spent: money.Micros(c.spent), Period: s.day(), StartMillis: start,
			EndMillis: start + daySeconds*1000,
		}
		ceiling := 1.0
		if s.config.Bids == Steered {
			c.returns.Follow(s.now(), &c.totals, &s.params)
			plan.Ceiling = c.returns.Ceiling()
			ceiling = float64(plan.Ceiling) / controller.Unshaded
		}
		word := c.pace.Tick(s.now(), &plan, c.served, s.curve, &s.params).Word
		c.served = controller.Served{}
		c.pass, c.factor = controller.Split(word)
		c.measure(s, func(r *Result) { r.ceilings += ceiling; r.base += float64(c.base) / float64(c.amount); r.ticks++ })
	}
}

// measure records something of the second half of the time.
func (c *campaign) measure(s *simulation, record func(*Result)) {
	if s.tick >= s.config.Days*dayTicks/2 {
		record(&c.result)
	}
	c.result.target = float64(c.target) / 1000
}
