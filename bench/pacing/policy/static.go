package policy

import controller "github.com/gavel-ads/gavel/shard/pacing"

// static writes the same words at the first tick and never again.
type static struct {
	word func(campaign int) uint64
	done bool
}

// Tick implements Policy.
func (s *static) Tick(_ *Seen, words []uint64) {
	if s.done {
		return
	}
	s.done = true
	for i := range words {
		words[i] = s.word(i)
	}
}

func newNone(*Knowledge) Policy {
	return &static{word: func(int) uint64 { return controller.Open }}
}

// newStaticThrottle lets each campaign compete with the probability that would have spent its budget yesterday.
func newStaticThrottle(k *Knowledge) Policy {
	return &static{word: func(i int) uint64 {
		return throttle(float64(k.Day.Campaigns[i].Budget) / max(k.Unpaced[i], 1))
	}}
}

// newStaticBid uses the multipliers of hindsight.
func newStaticBid(k *Knowledge) Policy {
	return &static{word: func(i int) uint64 { return shade(k.Multipliers[i]) }}
}
