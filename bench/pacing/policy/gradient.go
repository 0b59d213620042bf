package policy

import "math"

// gradient is adaptive pacing with a step per auction: the price of the budget grows while a campaign spends more than
// its share per auction, and the bid is divided by one plus that price. It is given the true number of auctions of the
// day and learns without delay, so it is an upper reference and not something that a marketplace could run.
//
// The additive form is that of Gaitonde, Li, Light, Lucier and Slivkins (2205.08674), the multiplicative one is mirror
// descent with the entropy as distance (Balseiro, Lu and Mirrokni 2023).
type gradient struct {
	target []float64 // Spend per auction.
	price  []float64
	step   []float64
	next   func(price, step float64) float64
	opened bool
}

// The steps are in units of 1/sqrt(number of auctions), as the theory has them. They were tuned on seeds 101 to 105 for
// the smallest KS distance (bench/results/2026-11-23-pacing.md); the comparison uses other seeds.
const (
	gradientStep = 3.0
	mirrorStep   = 3.0

	priceStart = 1/0.3 - 1 // A multiplier of 0.3, as the other policies start with.
	priceMost  = 400.
)

func newGradient(k *Knowledge) Policy {
	return newGradientOf(k, gradientStep, func(price, step float64) float64 { return price + step })
}

func newMirror(k *Knowledge) Policy {
	return newGradientOf(k, mirrorStep, func(price, step float64) float64 { return max(price, 1e-3) * math.Exp(min(step, 3)) })
}

func newGradientOf(k *Knowledge, scale float64, next func(price, step float64) float64) *gradient {
	n := len(k.Day.Campaigns)
	g := &gradient{target: make([]float64, n), price: make([]float64, n), step: make([]float64, n), next: next}
	for i := range n {
		auctions := max(k.Auctions[i], 1)
		g.target[i] = float64(k.Day.Campaigns[i].Budget) / auctions
		g.price[i] = priceStart
		g.step[i] = scale / math.Sqrt(auctions)
	}
	return g
}

// Tick implements Policy: it only writes the first words.
func (g *gradient) Tick(_ *Seen, words []uint64) {
	if g.opened {
		return
	}
	g.opened = true
	for i := range words {
		words[i] = shade(1 / (1 + g.price[i]))
	}
}

// Observe implements Observer. The step is in units of the target, so that it does not depend on the currency.
func (g *gradient) Observe(campaign int32, cost int64) uint64 {
	i := campaign
	over := float64(cost)/g.target[i] - 1
	g.price[i] = min(max(g.next(g.price[i], g.step[i]*over), 0), priceMost)
	return shade(1 / (1 + g.price[i]))
}
