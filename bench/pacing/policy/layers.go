package policy

import (
	"math"
	"slices"

	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// layers is Smart Pacing (Xu, Lee, Li, Qi and Lu, KDD 2015) without a performance goal: a campaign's requests are
// divided into layers of predicted click rate, and the probability to compete is adjusted once per slot of 15 minutes,
// from the best layer down when it should spend more and from the worst up when it should spend less. The spend of the
// next slot is what is planned, plus an equal share of what earlier slots missed.
type layers struct {
	plan  *plan
	edges [layerCount - 1]float64 // Of the predicted click rate relative to the campaign's mean.
	mean  []float64               // Mean quality score of each campaign.
	pass  [][layerCount]float64   // By campaign, the best layer first.
	cost  [][layerCount]float64   // Spent in this slot.
}

const (
	layerCount = 8
	layerTrial = 0.01 // Probability of the layer below the last one that is fully open, and of all layers at the start.
	layerSlot  = 900  // Seconds.
)

func newLayers(k *Knowledge) Policy {
	n := len(k.Day.Campaigns)
	l := &layers{
		plan: newPlan(&k.Day.Forecast, 0), mean: make([]float64, n),
		pass: make([][layerCount]float64, n), cost: make([][layerCount]float64, n),
	}
	l.divide(k.Day)
	for i := range l.pass {
		for layer := range l.pass[i] {
			l.pass[i][layer] = layerTrial
		}
	}
	return l
}

// divide finds the edges of the layers: the octiles of the quality score relative to its mean.
func (l *layers) divide(day *scenario.Day) {
	count := make([]float64, len(l.mean))
	for i := range day.Candidates {
		c := &day.Candidates[i]
		l.mean[c.Campaign] += float64(c.Quality)
		count[c.Campaign]++
	}
	for i := range l.mean {
		l.mean[i] /= max(count[i], 1)
	}
	var relative []float64
	every := max(1, len(day.Candidates)/10_000)
	for i := 0; i < len(day.Candidates); i += every {
		c := &day.Candidates[i]
		relative = append(relative, float64(c.Quality)/l.mean[c.Campaign])
	}
	slices.Sort(relative)
	for i := range l.edges {
		if len(relative) > 0 {
			l.edges[i] = relative[len(relative)*(layerCount-1-i)/layerCount]
		}
	}
}

// layer returns the layer of a candidate, 0 for the best.
func (l *layers) layer(c *scenario.Candidate) int {
	relative := float64(c.Quality) / l.mean[c.Campaign]
	for i, edge := range l.edges {
		if relative >= edge {
			return i
		}
	}
	return layerCount - 1
}

// Admit implements Admitter.
func (l *layers) Admit(c *scenario.Candidate, uniform float64) bool {
	return uniform < l.pass[c.Campaign][l.layer(c)]
}

// Won implements Admitter.
func (l *layers) Won(c *scenario.Candidate, cost int64) {
	l.cost[c.Campaign][l.layer(c)] += float64(cost)
}

// Tick implements Policy.
func (l *layers) Tick(seen *Seen, words []uint64) {
	if seen.Millis == 0 {
		for i := range words {
			words[i] = controller.Open
		}
		return
	}
	if !every(seen, layerSlot) {
		return
	}
	const slot = layerSlot * 1000
	share, next := l.plan.at(seen.Millis), l.plan.at(seen.Millis+slot)
	slots := max(1, math.Ceil(float64(scenario.DayMillis-seen.Millis)/slot))
	for i := range words {
		budget := float64(seen.Budget[i])
		missed := budget*(1-share) - (budget - float64(seen.Spent[i])) // Negative: less is spent than planned.
		wanted := max(0, budget*(next-share)-missed/slots)
		adjust(&l.pass[i], &l.cost[i], wanted)
		l.cost[i] = [layerCount]float64{}
	}
}

// adjust changes the probabilities so that the next slot spends what is wanted, if it is like the last one.
func adjust(pass, cost *[layerCount]float64, wanted float64) {
	missing := wanted
	for _, c := range cost {
		missing -= c
	}
	if missing > 0 {
		for i := range pass {
			if missing <= 0 {
				return
			}
			missing = raise(&pass[i], cost[i], missing)
			if pass[i] < 1 {
				break
			}
		}
		for i := range pass { // A trial of the first layer that is closed.
			if pass[i] < 1 {
				pass[i] = max(pass[i], layerTrial)
				return
			}
		}
		return
	}
	for i := layerCount - 1; i >= 0 && missing < 0; i-- {
		if cost[i] <= 0 {
			if i > 0 {
				pass[i] = 0
			}
			continue
		}
		left := max(0, 1+missing/cost[i])
		missing += cost[i] * (1 - left)
		pass[i] *= left
	}
	pass[0] = max(pass[0], layerTrial) // Otherwise a campaign could never return.
}

// raise raises the probability of a layer as far as needed, at most to 1, and returns what is still missing. A layer
// that spent nothing is raised tenfold, because nothing is known about it.
func raise(pass *float64, cost, missing float64) float64 {
	if cost <= 0 {
		*pass = min(1, max(*pass, layerTrial)*10)
		return missing
	}
	factor := min(1+missing/cost, 1/max(*pass, 1e-9))
	*pass = min(1, *pass*factor)
	return missing - cost*(factor-1)
}
