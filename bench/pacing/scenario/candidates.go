package scenario

import (
	"math"
	"math/rand/v2"
)

// Click probabilities above clickMax are cut, so that a quality score can represent them: the quality of a listing is
// the predicted click probability divided by clickMax.
const clickMax = 0.5

// qualityOne is the quality score 1.0 of the auction engine.
const qualityOne = 1 << 30

// candidates picks for every request a category and the campaigns of it that compete, each with its probability of a
// click:
//
//	click rate of the campaign x uniform(0.5, 1.5) of category and 4 hours x uniform(0.7, 1.3) of campaign and 4 hours
//	x lognormal(-0.125, 0.5) of the request, whose mean is 1.
//
// Listings are ranked by bid times predicted click probability, banners by bid alone, because their value is the
// impression. All campaigns of a category compete with the same probability, which gives the configured mean number.
func (d *Day) candidates(c *Config, r *rand.Rand) {
	popularity := newZipf(c.Categories, c.ZipfExponent)
	members := d.members(c.Categories)
	probability := d.competing(c, popularity, members)
	categories, campaigns := factors(r, c.Categories, 0.5, 1.5), factors(r, c.Campaigns, 0.7, 1.3)
	for i := range d.Requests {
		q := &d.Requests[i]
		q.First = uint32(len(d.Candidates)) // A day has fewer than 2^32.
		category, part := popularity.pick(r), int(q.Millis/(4*Hour))
		kind := kindOf(q.Banner)
		for _, campaign := range members[kind][category] {
			if r.Float64() >= probability[kind] {
				continue
			}
			click := d.Campaigns[campaign].ClickRate * categories[part][category] * campaigns[part][campaign] * requestFactor(r)
			d.Candidates = append(d.Candidates, candidate(campaign, q.Banner, click, c.PredictorError*r.NormFloat64()))
		}
		if !q.Banner && r.Float64() < c.ExternalRate {
			d.external(c, i, categories[part][category], r)
		}
	}
}

func candidate(campaign int32, banner bool, click, mistake float64) Candidate {
	click = min(click, clickMax)
	quality := uint32(qualityOne)
	if !banner {
		quality = qualityOf(click, mistake)
	}
	return Candidate{Campaign: campaign, Offer: campaign, Quality: quality, Click: float32(click)}
}

// qualityOf returns the quality score of a click probability that is predicted with a mistake in its logarithm.
func qualityOf(click, mistake float64) uint32 {
	return uint32(max(1, min(click/clickMax*math.Exp(mistake), 1)*qualityOne)) // At most qualityOne.
}

// external adds one to three bids of other demand sources.
func (d *Day) external(c *Config, request int, category float64, r *rand.Rand) {
	for range 1 + r.IntN(3) {
		click := min(c.ClickRate*category*requestFactor(r), clickMax)
		d.External = append(d.External, External{
			Request: int32(request), Click: float32(click), Quality: qualityOf(click, c.PredictorError*r.NormFloat64()),
			Bid: max(10_000, micros(c.BidMedian*math.Exp(c.BidSigma*r.NormFloat64()))),
		})
	}
}

func requestFactor(r *rand.Rand) float64 { return math.Exp(-0.125 + 0.5*r.NormFloat64()) }

// members returns the campaigns of listings and of banners by category.
func (d *Day) members(categories int) (members [2][][]int32) {
	members[0], members[1] = make([][]int32, categories), make([][]int32, categories)
	for i := range d.Campaigns {
		c := &d.Campaigns[i]
		kind := kindOf(c.Banner)
		members[kind][c.Category] = append(members[kind][c.Category], int32(i)) // At most campaignsMax.
	}
	return members
}

// competing returns the probability that a campaign of the request's category competes, for listings and banners.
func (d *Day) competing(c *Config, popularity *zipf, members [2][][]int32) (probability [2]float64) {
	for kind := range members {
		mean := 0.
		for category, all := range members[kind] {
			mean += popularity.share(category) * float64(len(all))
		}
		if mean > 0 {
			probability[kind] = min(1, c.CandidatesMean/mean)
		}
	}
	return probability
}

// factors returns uniform values for each 4 hours of n things.
func factors(r *rand.Rand, n int, from, to float64) (f [6][]float64) {
	for part := range f {
		f[part] = make([]float64, n)
		for i := range f[part] {
			f[part][i] = from + (to-from)*r.Float64()
		}
	}
	return f
}

func kindOf(banner bool) int {
	if banner {
		return 1
	}
	return 0
}
