package models

import "math/bits"

// Split divides an amount among parts in proportion to their weights. Every part ends at the rounded-down share of all parts up
// to it, so the results add up to the amount exactly, and each is less than one unit away from its exact share. REQUIRES: the
// amount is not negative, and the weights are not all 0.
func Split(amount int64, parts []Part) []int64 {
	total := uint64(0)
	for i := range parts {
		total += parts[i].Weight
	}
	all := make([]int64, len(parts))
	sum, end := uint64(0), int64(0)
	for i := range parts {
		sum += parts[i].Weight
		hi, lo := bits.Mul64(uint64(amount), sum) // Not negative.
		share, _ := bits.Div64(hi, lo, total)     // At most amount, because sum is at most total.
		all[i] = int64(share) - end
		end = int64(share)
	}
	return all
}
