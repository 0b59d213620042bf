package pacing // float: the leader computes this; its results are replicated as integers.

import "math"

// A tick is short beside the times of memory and of the loop, so exponentials in a tick are of small arguments, where five
// terms of the series are right to 1e-6 of the value at a fraction of the cost. Longer ones fall back to package math.
const seriesMax = 0.125

// exp returns e^y.
func exp(y float64) float64 {
	if y > -seriesMax && y < seriesMax {
		return 1 + y*(1+y*(1.0/2+y*(1.0/6+y*(1.0/24))))
	}
	return math.Exp(y)
}

// decay returns e^-y for y >= 0.
func decay(y float64) float64 { return exp(-y) }

// ln returns the logarithm of a positive finite number to 1e-7. The exponent is read from the bits; the logarithm of the
// mantissa m, from sqrt(1/2) to sqrt(2), is 2 artanh((m-1)/(m+1)), of which four terms of the series are enough.
func ln(v float64) float64 {
	const (
		mantissaBits = 52
		bias         = 1023
		root         = 0x6a09e667f3bcd // The mantissa of sqrt(2).
	)
	b := math.Float64bits(v)
	exponent := int64(b>>mantissaBits) - bias
	mantissa := b & (1<<mantissaBits - 1)
	one := uint64(bias)
	if mantissa > root {
		one, exponent = one-1, exponent+1
	}
	m := math.Float64frombits(one<<mantissaBits | mantissa)
	s := (m - 1) / (m + 1)
	s2 := s * s
	return float64(exponent)*math.Ln2 + 2*s*(1+s2*(1.0/3+s2*(1.0/5+s2*(1.0/7))))
}
