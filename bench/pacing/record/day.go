package record

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gavel-ads/gavel/bench/pacing/scenario"
)

// Changes are what a simulation supposes to be different from the recorded day.
type Changes struct {
	Budgets    map[string]int64   // By campaign id, in micros of a day.
	BidFactors map[string]float64 // By campaign id.
	ReserveCPC int64              // Micros; negative: as recorded.
	ReserveCPM int64
}

// unlimitedBudget stands for no budget: far more than a day can cost.
const unlimitedBudget = int64(1) << 50

// requestsMax bounds the day. BOUND: each request is a few hundred bytes.
const requestsMax = 5_000_000

// spread is by how much a copy of a recorded auction is moved at most, in milliseconds.
const spread = 10 * 60_000

// Day makes a day of the recording. Every recorded auction stands for Every requests, which are put at random times
// near it; the seed decides these times and who clicks. A campaign's impressions are clicked at its recorded rate.
// Where the recording covers only a part of the day, budgets are reduced to that part. Of more than 24 hours the last
// 24 count.
func (r *Recording) Day(seed uint64, changes *Changes) (*scenario.Day, error) {
	d := &scenario.Day{Seed: seed, Slots: slotsMax, Delays: scenario.DefaultDelays()}
	d.Reserve = [2]int64{r.ReserveCPC, r.ReserveCPM}
	if changes.ReserveCPC >= 0 {
		d.Reserve[0] = changes.ReserveCPC
	}
	if changes.ReserveCPM >= 0 {
		d.Reserve[1] = changes.ReserveCPM
	}
	if err := r.campaigns(d, changes); err != nil {
		return nil, err
	}
	copies := r.copies(seed)
	if len(copies) == 0 {
		return nil, fmt.Errorf("the recording has no auction before %s", r.To)
	}
	if len(copies) > requestsMax {
		return nil, fmt.Errorf("the recording stands for %d requests; at most %d can be simulated", len(copies), requestsMax)
	}
	offers := map[[2]int64]int32{}
	for _, c := range copies {
		r.add(d, &c, changes, offers)
	}
	return d, nil
}

// Covered returns the share of the day that the recording covers.
func (r *Recording) Covered() float64 {
	return min(1, float64(r.To.Sub(r.From).Milliseconds())/float64(scenario.DayMillis))
}

// campaigns adds the campaigns with their changed budgets.
func (r *Recording) campaigns(d *scenario.Day, changes *Changes) error {
	known := map[string]bool{}
	for i := range r.Campaigns {
		c := &r.Campaigns[i]
		known[c.ID] = true
		budget, changed := changes.Budgets[c.ID]
		if !changed {
			budget = c.Budget
		}
		budget = int64(float64(budget) * r.Covered())
		if budget == 0 {
			budget = unlimitedBudget
		}
		d.Campaigns = append(d.Campaigns, scenario.Campaign{
			ID: c.ID, Banner: c.Charge == "CPM", Budget: budget, Vendor: c.Vendor,
			ClickRate: max(c.ClickRate, 1e-6), EndMillis: scenario.DayMillis,
		})
	}
	for id := range changes.Budgets {
		if !known[id] {
			return fmt.Errorf("the recording has no campaign %s", id)
		}
	}
	for id := range changes.BidFactors {
		if !known[id] {
			return fmt.Errorf("the recording has no campaign %s", id)
		}
	}
	return nil
}

// copied is a copy of a recorded auction at a time of the day.
type copied struct {
	millis  int64
	auction int
}

// copies returns the requests of the day in order of time.
func (r *Recording) copies(seed uint64) (all []copied) {
	random := rand.New(rand.NewPCG(seed, 1))
	end := r.To.UnixMilli()
	for i := range r.Auctions {
		at := r.Auctions[i].AtMillis
		if at > end || at <= end-scenario.DayMillis {
			continue
		}
		local := at + r.OffsetSeconds*1000
		for range r.Every {
			moved := local + int64((2*random.Float64()-1)*spread)
			all = append(all, copied{(moved%scenario.DayMillis + scenario.DayMillis) % scenario.DayMillis, i})
			if len(all) > requestsMax {
				return all
			}
		}
	}
	slices.SortStableFunc(all, func(a, b copied) int {
		switch {
		case a.millis < b.millis:
			return -1
		case a.millis > b.millis:
			return 1
		}
		return 0
	})
	return all
}

// add appends a request with its candidates, and counts it for the forecast.
func (r *Recording) add(d *scenario.Day, c *copied, changes *Changes, offers map[[2]int64]int32) {
	a := &r.Auctions[c.auction]
	d.Requests = append(d.Requests, scenario.Request{
		Millis: c.millis, First: uint32(len(d.Candidates)), Banner: a.Banner, Slots: uint8(a.Slots), // At most slotsMax; few candidates.
	})
	d.Forecast[c.millis/scenario.Hour]++
	for _, b := range a.Bids {
		campaign := &d.Campaigns[b[0]]
		key := [2]int64{b[0], b[1]}
		offer, known := offers[key]
		if !known {
			offer = int32(len(d.Offers)) // At most as many as recorded bids.
			offers[key] = offer
			bid := b[1]
			if factor, changed := changes.BidFactors[campaign.ID]; changed {
				bid = max(1, int64(math.Round(float64(bid)*factor)))
			}
			d.Offers = append(d.Offers, scenario.Offer{Campaign: int32(b[0]), Bid: bid}) // An index.
			campaign.Bid = max(campaign.Bid, bid)
		}
		d.Candidates = append(d.Candidates, scenario.Candidate{
			Campaign: int32(b[0]), Offer: offer, Quality: uint32(b[2]), Click: float32(campaign.ClickRate), // As above; at most qualityOne.
		})
	}
}
