package metric

import "math"

// Interval is the mean of a sample and half the width of its 95 % confidence interval (Student's t).
type Interval struct {
	Mean  float64 `json:"mean"`
	Half  float64 `json:"half"` // 0 for fewer than two values.
	Count int     `json:"count"`
}

// Mean returns the interval of the values that are numbers.
func Mean(values []float64) Interval {
	sum, n := 0., 0.
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return Interval{Mean: math.NaN()}
	}
	mean, square := sum/n, 0.
	for _, v := range values {
		if !math.IsNaN(v) {
			square += (v - mean) * (v - mean)
		}
	}
	i := Interval{Mean: mean, Count: int(n)}
	if n > 1 {
		i.Half = student(int(n)-1) * math.Sqrt(square/(n-1)/n)
	}
	return i
}

// Paired returns the interval of the differences b - a of two policies on the same seeds.
func Paired(a, b []float64) Interval {
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = b[i] - a[i] // NaN when one of them is.
	}
	return Mean(differences)
}

// student returns the 97.5 % quantile of Student's distribution.
func student(freedom int) float64 {
	table := [...]float64{
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
		2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	}
	if freedom <= len(table) {
		return table[freedom-1]
	}
	// The quantile of the normal distribution with the first terms of the expansion in 1/freedom.
	const z = 1.959964
	n := float64(freedom)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}
