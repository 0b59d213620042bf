package learn

// The visibility of a rank is how likely its ad is clicked, relative to the same ad at the first rank: 1, 0.8, 0.6, and
// then nine tenths of the rank before (the position effects of AuctionNet for three slots, and an assumption beyond).
// An impression counts with the visibility of its rank, so that a click rate is always that of the first rank,
// wherever the ad was shown.

// NextVisibility returns the visibility of the rank after a zero-based rank, in units of 1/One, from the visibility of
// that rank. The visibility of the first rank is One.
func NextVisibility(rank int, visibility uint64) uint64 {
	switch rank {
	case 0:
		return 8 * One / 10
	case 1:
		return 6 * One / 10
	}
	return visibility * 9 / 10
}

// Visibility returns the visibility of a rank, which is at least 1, in units of 1/One.
func Visibility(rank uint8) uint64 {
	visibility := uint64(One)
	for zeroBased := range int(rank) - 1 {
		visibility = NextVisibility(zeroBased, visibility)
	}
	return visibility
}
