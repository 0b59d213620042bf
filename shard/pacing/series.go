package pacing // float: the leader computes this; its results are replicated as integers.

import "math"

// A tick is short beside the times of memory and of the loop, so exponentials in a tick are of small arguments, where
// five terms of the series are right to 3e-7 at a fraction of the cost. The tick of an idle campaign spans some seconds;
// eight terms are as good up to wideMax. Longer ones fall back to package math.
const seriesMax, wideMax = 0.125, 0.5

// exp returns e^y.
func exp(y float64) float64 {
	y2 := y * y
	if y2 >= seriesMax*seriesMax {
		return wideExp(y, y2)
	}
	return 1 + y + y2*(1.0/2+y*(1.0/6)+y2*(1.0/24))
}

// wideExp returns e^y; y2 is the square of y. It stands apart so that exp stays small.
func wideExp(y, y2 float64) float64 {
	if y2 >= wideMax*wideMax {
		return math.Exp(y)
	}
	low := 1 + y + y2*(1.0/2+y*(1.0/6))
	high := 1.0/24 + y*(1.0/120) + y2*(1.0/720+y*(1.0/5040))
	return low + y2*y2*high
}

// decay returns e^-y for y >= 0.
func decay(y float64) float64 { return exp(-y) }

// lnRatio returns the logarithm of a/b to 1e-6, for positive finite a and b that are not subnormal. The exponents are
// subtracted as integers; the logarithm of the ratio of the mantissas, which is from 1/2 to 2, is the series of
// 2 artanh((a-b)/(a+b)). So it needs one division, which is most of its cost.
func lnRatio(a, b float64) float64 {
	const (
		mantissaBits = 52
		mantissa     = 1<<mantissaBits - 1
		one          = 1023 << mantissaBits
	)
	ab, bb := math.Float64bits(a), math.Float64bits(b)
	exponent := int64(ab>>mantissaBits) - int64(bb>>mantissaBits)
	ma, mb := math.Float64frombits(ab&mantissa|one), math.Float64frombits(bb&mantissa|one)
	s := (ma - mb) / (ma + mb)
	x := s * s
	x2 := x * x
	odd := (1 + x*(1.0/3)) + x2*((1.0/5+x*(1.0/7))+x2*(1.0/9+x*(1.0/11)))
	return float64(exponent)*math.Ln2 + 2*s*odd
}
