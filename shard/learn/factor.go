package learn

import "math/bits"

// The learned quality factor is (p/q)^a, where p is the predicted click rate of a bid's ad, q that of an average ad at
// the same place, and a an exponent from 0 to 1 that the marketplace chooses. It is kept between FactorMin and FactorMax.
// It is computed as 2^(a * (log2 p - log2 q)), with tables between whose entries it interpolates. Its relative error is
// below 1/10,000.

// Bounds of the factor, in units of 1/One.
const (
	FactorMin = One / 4
	FactorMax = One * 4
)

// ExponentOne is the exponent 1.
const ExponentOne = 1_000

const (
	logBits  = 26 // Logarithms and table entries are in units of 1/2^logBits.
	stepBits = 6  // The tables have 2^stepBits steps.
	restBits = logBits - stepBits
)

// Factor returns (rate/parent)^(exponent/ExponentOne) in units of 1/One. REQUIRES: rate and parent are above 0, exponent
// is at most ExponentOne.
func Factor(rate, parent uint32, exponent uint16) uint64 {
	x := (log2(rate) - log2(parent)) * int64(exponent) / ExponentOne
	switch {
	case x <= -2<<logBits:
		return FactorMin
	case x >= 2<<logBits:
		return FactorMax
	}
	whole := x >> logBits // Rounded down: -2 to 1.
	return exp2(uint64(x-whole<<logBits)) << uint(whole+2) >> (logBits + 2 - 16)
}

// Scale returns floor(x*factor/One), but at least 1. REQUIRES: the result fits.
func Scale(x, factor uint64) uint64 {
	hi, lo := bits.Mul64(x, factor)
	return max(hi<<48|lo>>16, 1)
}

// log2 returns the binary logarithm of x. REQUIRES: x is above 0.
func log2(x uint32) int64 {
	shift := bits.LeadingZeros32(x)
	fraction := uint64(x<<shift<<1) >> (32 - logBits) // Of the leading 1 of x, in units of 1/2^logBits.
	return int64(31-shift)<<logBits + int64(interpolate(&log2Table, fraction))
}

// exp2 returns 2^(fraction/2^logBits) in units of 1/2^logBits. REQUIRES: fraction is below 2^logBits.
func exp2(fraction uint64) uint64 { return interpolate(&exp2Table, fraction) }

// interpolate returns the value of a table between two entries. REQUIRES: fraction is below 2^logBits.
func interpolate(table *[1<<stepBits + 1]uint32, fraction uint64) uint64 {
	step, rest := fraction>>restBits, fraction&(1<<restBits-1)
	low, high := uint64(table[step]), uint64(table[step+1])
	return low + (high-low)*rest>>restBits
}

// log2Table[i] is log2(1 + i/64) in units of 1/2^26.
var log2Table = [65]uint32{
	0, 1501079, 2979239, 4435170, 5869532, 7282953, 8676036, 10049359,
	11403474, 12738911, 14056177, 15355762, 16638134, 17903742, 19153019, 20386381,
	21604229, 22806948, 23994909, 25168470, 26327977, 27473761, 28606143, 29725435,
	30831934, 31925930, 33007703, 34077521, 35135648, 36182335, 37217828, 38242363,
	39256169, 40259469, 41252479, 42235408, 43208457, 44171825, 45125701, 46070271,
	47005714, 47932205, 48849915, 49759007, 50659643, 51551977, 52436163, 53312346,
	54180672, 55041278, 55894303, 56739877, 57578130, 58409188, 59233172, 60050204,
	60860398, 61663868, 62460725, 63251078, 64035030, 64812686, 65584145, 66349506,
	67108864,
}

// exp2Table[i] is 2^(i/64) in units of 1/2^26.
var exp2Table = [65]uint32{
	67108864, 67839632, 68578357, 69325126, 70080027, 70843149, 71614580, 72394412,
	73182735, 73979643, 74785228, 75599586, 76422812, 77255001, 78096253, 78946666,
	79806339, 80675373, 81553870, 82441933, 83339667, 84247176, 85164568, 86091949,
	87029429, 87977118, 88935126, 89903566, 90882551, 91872197, 92872620, 93883937,
	94906266, 95939727, 96984442, 98040534, 99108125, 100187342, 101278310, 102381159,
	103496017, 104623014, 105762284, 106913960, 108078177, 109255071, 110444781, 111647445,
	112863206, 114092206, 115334589, 116590500, 117860087, 119143500, 120440887, 121752403,
	123078199, 124418433, 125773261, 127142842, 128527337, 129926908, 131341719, 132771936,
	134217728,
}
