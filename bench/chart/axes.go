package chart

import "math"

// linesMax is the number of lines that a linear axis has at most above zero.
const linesMax = 6

// FromZero returns a linear axis from 0 to the value of a round line that is at least most. Distances between lines are
// 1, 2 or 5 times a power of ten. An axis without a positive value goes to 1.
func FromZero(title string, most float64) Axis {
	if !(most > 0) || math.IsInf(most, 1) {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/linesMax)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if most <= factor*step*linesMax {
			step *= factor
			break
		}
	}
	a := Axis{Title: title, Ticks: []float64{0}}
	for i := 1; a.Max < most; i++ {
		a.Max = float64(i) * step
		a.Ticks = append(a.Ticks, a.Max)
	}
	return a
}

// Decades returns a logarithmic axis of whole powers of ten that contains both values. REQUIRES: 0 < least <= most.
func Decades(title string, least, most float64) Axis {
	from, to := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	if from == to {
		to++
	}
	a := Axis{Title: title, Min: math.Pow(10, from), Max: math.Pow(10, to), Log: true}
	for power := from; power <= to; power++ {
		a.Ticks = append(a.Ticks, math.Pow(10, power))
	}
	return a
}
