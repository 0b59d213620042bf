package scenario

import (
	"math"
	"math/rand/v2"
	"slices"
)

// campaigns generates the campaigns. Bid and click rate are correlated by a Gaussian copula: both are quantiles of two
// normal values with the configured correlation.
func (d *Day) campaigns(c *Config, r *rand.Rand) {
	popularity := newZipf(c.Categories, c.ZipfExponent)
	vendors := max(1, int(float64(c.Campaigns)*c.VendorShare))
	rates := newBeta(c.ClickRateShape, c.ClickRateShape*(1/c.ClickRate-1))
	d.Campaigns = make([]Campaign, c.Campaigns)
	for i := range d.Campaigns {
		x := r.NormFloat64()
		y := c.Correlation*x + math.Sqrt(1-c.Correlation*c.Correlation)*r.NormFloat64()
		click := rates.quantile(normalCDF(y))
		bid := c.BidMedian * math.Exp(c.BidSigma*x)
		clicks := max(c.BudgetClicksMin, c.BudgetClicks*math.Exp(c.BudgetSigma*r.NormFloat64()))
		campaign := Campaign{
			Banner: r.Float64() < c.BannerShare, Bid: max(10_000, micros(bid)), Budget: micros(clicks * ClickPrice * bid),
			Category: popularity.pick(r), Vendor: r.IntN(vendors), ClickRate: click, EndMillis: DayMillis,
		}
		factor := math.Exp(0.5 * r.NormFloat64()) // Generated for every campaign, so that BannerShare changes nothing else.
		if campaign.Banner {
			campaign.Bid = max(10_000, micros(bid*click*1000*factor))
		}
		d.Campaigns[i] = campaign
		d.Offers = append(d.Offers, Offer{Campaign: int32(i), Bid: campaign.Bid}) // At most campaignsMax.
	}
}

// edits generates the changes of budgets.
func (d *Day) edits(c *Config, r *rand.Rand) {
	for i := range d.Campaigns {
		at, changed, doubled := int64(r.Float64()*float64(DayMillis)), r.Float64() < c.EditShare, r.IntN(2) == 0
		if !changed {
			continue
		}
		budget := d.Campaigns[i].Budget / 2
		if doubled {
			budget = d.Campaigns[i].Budget * 2
		}
		d.Edits = append(d.Edits, Edit{Millis: at, Campaign: int32(i), Budget: budget}) // At most campaignsMax.
	}
	slices.SortStableFunc(d.Edits, func(a, b Edit) int { return int(a.Millis - b.Millis) })
}

// zipf picks a rank with a probability in proportion to 1/(rank+1)^exponent.
type zipf struct{ cumulative []float64 }

func newZipf(n int, exponent float64) *zipf {
	z := &zipf{cumulative: make([]float64, n)}
	sum := 0.
	for i := range n {
		sum += math.Pow(float64(i+1), -exponent)
		z.cumulative[i] = sum
	}
	for i := range z.cumulative {
		z.cumulative[i] /= sum
	}
	return z
}

func (z *zipf) pick(r *rand.Rand) int {
	at, _ := slices.BinarySearch(z.cumulative, r.Float64())
	return min(at, len(z.cumulative)-1)
}

// share returns the probability of a rank.
func (z *zipf) share(rank int) float64 {
	if rank == 0 {
		return z.cumulative[0]
	}
	return z.cumulative[rank] - z.cumulative[rank-1]
}

// beta gives quantiles of a Beta distribution from a table of its distribution function. The table is in the square
// root of the value, because the click rates of interest lie near zero.
type beta struct{ cumulative []float64 }

const betaSteps = 20_000

func newBeta(a, b float64) *beta {
	t := &beta{cumulative: make([]float64, betaSteps+1)}
	sum := 0.
	for i := 1; i <= betaSteps; i++ {
		root := (float64(i) - 0.5) / betaSteps
		x := root * root
		// The density of the square root is 2*root times the density of the value; constants cancel.
		sum += math.Exp((a-1)*math.Log(x) + (b-1)*math.Log1p(-x) + math.Log(root))
		t.cumulative[i] = sum
	}
	for i := range t.cumulative {
		t.cumulative[i] /= sum
	}
	return t
}

func (t *beta) quantile(p float64) float64 {
	at, _ := slices.BinarySearch(t.cumulative, p)
	at = min(max(at, 1), betaSteps)
	below, above := t.cumulative[at-1], t.cumulative[at]
	part := 0.5
	if above > below {
		part = min(max((p-below)/(above-below), 0), 1)
	}
	root := (float64(at-1) + part) / betaSteps
	return max(root*root, 1e-7)
}

func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
