package pacing // float: the leader computes this; its results are replicated as integers.

// A word is the pacing of a campaign as auctions read it. The high half is the probability that the campaign competes, in
// units of 1/2^32, with all ones for always. The low half is the factor of the bids, in units of 1/2^31; auctions take a
// factor above 1 for 1. These are the two special words.
const (
	Stopped uint64 = 0                     // No bid competes.
	Open    uint64 = Always<<32 | Unshaded // Every bid competes unchanged.
)

// These are the two halves of Open.
const (
	Always   = 1<<32 - 1 // Probability to compete: always.
	Unshaded = 1 << 31   // Factor of the bids: 1.
)

// Word returns the word for a probability to compete and a factor of the bids. Both are clamped to 0 to 1; a value that
// is not a number counts as 0. A factor that would round to 0 stops the campaign.
func Word(pass, multiplier float64) uint64 {
	factor := uint64(unit(multiplier)*Unshaded + 0.5)
	if factor == 0 {
		return Stopped
	}
	return uint64(unit(pass)*Always+0.5)<<32 | factor
}

// Split returns the two factors of a word: the probability to compete and the factor of the bids, both 0 to 1.
func Split(word uint64) (pass, multiplier float64) {
	return float64(word>>32) / Always, float64(word&(1<<32-1)) / Unshaded
}

// unit clamps v to 0 to 1, and takes what is not a number for 0.
func unit(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	if v > 1 {
		return 1
	}
	return v
}
