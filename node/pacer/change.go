package pacer

import (
	"cmp"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// A decision is replicated when it differs enough from the one in force, so that an idle cluster writes little: at 5,000
// paced campaigns a few hundred decisions a second.
const (
	wordChange = 0.01 // Least relative change of the factor or of the probability.
	holdChange = 0.05 // Least relative change of the hold, which must also exceed the expected cost of one ad.
	// memoryInterval is how often the memory of a campaign that serves is replicated, and idleMemoryInterval of another one.
	// A new leader misses at most so much of what the controller has seen; the holds are never older than their changes.
	// Both are in milliseconds.
	memoryInterval, idleMemoryInterval = 30_000, 600_000
	// changesMax is the most decisions of one tick.
	changesMax = command.PaceMax
)

// change is a decision to be replicated.
type change struct {
	ordinal uint32
	size    float64 // How much it differs: the largest ones come first.
}

// changeOf returns how much the decision of a campaign differs from the one in force: 0 for too little, more than 1 for
// enough, infinite when the campaign stops or starts again.
func (c *controlled) changeOf() float64 {
	size := 0.0
	if word := c.balances.Pacing.Load(); word != c.decision.Word {
		if word == pacing.Stopped || c.decision.Word == pacing.Stopped || word == pacing.Open || c.decision.Word == pacing.Open {
			return math.Inf(1)
		}
		pass, factor := pacing.Split(word)
		newPass, newFactor := pacing.Split(c.decision.Word)
		size = max(relative(newPass, pass), relative(newFactor, factor)) / wordChange
	}
	was := c.balances.Hold.Load()
	if d := math.Abs(float64(int64(c.decision.Hold) - was)); d > float64(c.price) {
		size = max(size, relative(float64(c.decision.Hold), float64(was))/holdChange)
	}
	if size <= 1 && c.decision.Status != c.status {
		size = 2 // People see it.
	}
	if size <= 1 {
		return 0
	}
	return size
}

// relative returns the relative difference of a value from what it was.
func relative(value, was float64) float64 {
	switch {
	case value == was:
		return 0
	case was == 0:
		return math.Inf(1)
	}
	return math.Abs(value-was) / was
}

// due reports whether a campaign's memory is to be replicated although its decision is still good. Campaigns are spread
// over the interval by their ordinals.
func (c *controlled) due(ordinal uint32, now int64) bool {
	every := int64(idleMemoryInterval)
	if c.moved || int64(c.decision.Hold) != c.balances.Hold.Load() || c.decision.Word != c.balances.Pacing.Load() {
		every = memoryInterval
	}
	if c.remembered == 0 {
		c.remembered = now - int64(ordinal)*1000%every
	}
	return now-c.remembered >= every
}

// largest returns at most changesMax changes, the largest ones, in the order of their ordinals.
func largest(all []change) []change {
	if len(all) > changesMax {
		slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(b.size, a.size) })
		all = all[:changesMax]
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.ordinal, b.ordinal) })
	return all
}
