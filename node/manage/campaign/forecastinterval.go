package campaign

import "math"

// interval is an estimate with the bounds of a confidence interval.
type interval struct{ expected, low, high float64 }

func (x interval) times(y interval) interval {
	return interval{x.expected * y.expected, x.low * y.low, x.high * y.high}
}

func (x interval) scaled(by float64) interval {
	return interval{x.expected * by, x.low * by, x.high * by}
}

// total estimates the expected sum of the weights of random events from the weights in a sample: the number of events, or the sum
// of what they cost. most is the largest weight that an event outside of the sample may have.
//
// The bounds are those of M. P. Fay and E. J. Feuer, Confidence intervals for directly standardized rates: a method based on the gamma
// distribution, Statistics in Medicine 16 (1997) 791-801. They treat the events as a compound Poisson process and hold for few events
// too. With equal weights they are Garwood's exact bounds of a Poisson count.
func total(weights []float64, most, level float64) interval {
	sum, squares, largest := 0.0, 0.0, most
	for _, w := range weights {
		sum, squares, largest = sum+w, squares+w*w, max(largest, w)
	}
	tail := (1 - level) / 2
	if sum == 0 {
		return interval{0, 0, most * gammaQuantile(1, 1-tail)}
	}
	above, spread := sum+largest, squares+largest*largest
	return interval{
		expected: sum,
		low:      squares / sum * gammaQuantile(sum*sum/squares, tail),
		high:     spread / above * gammaQuantile(above*above/spread, 1-tail),
	}
}

// share estimates a probability from successes among trials, by the score interval of E. B. Wilson, JASA 22 (1927)
// 209-212. REQUIRES: trials is positive, successes is at most trials.
func share(successes, trials, level float64) interval {
	z := math.Sqrt2 * math.Erfinv(level)
	p, zz := successes/trials, z*z/trials
	middle, half := (p+zz/2)/(1+zz), z/(1+zz)*math.Sqrt(p*(1-p)/trials+zz/(4*trials))
	return interval{p, max(0, min(p, middle-half)), min(1, max(p, middle+half))}
}

// gammaQuantile returns the quantile of a gamma distribution with a shape and scale 1, by bisection.
func gammaQuantile(shape, probability float64) float64 {
	low, high := 0.0, shape+1
	for gammaBelow(shape, high) < probability {
		high *= 2
	}
	for high-low > 1e-10*high {
		if middle := (low + high) / 2; gammaBelow(shape, middle) < probability {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// gammaBelow is the probability that a gamma variable is below x: the regularized incomplete gamma function P. Below the
// mean its power series converges, above it the continued fraction of 1-P (DLMF 8.7.1 and 8.9.2).
func gammaBelow(shape, x float64) float64 {
	if x <= 0 {
		return 0
	}
	logGamma, _ := math.Lgamma(shape)
	scale := math.Exp(shape*math.Log(x) - x - logGamma)
	if x < shape+1 {
		term := 1 / shape
		sum := term
		for n := 1.0; term > sum*1e-15; n++ {
			term *= x / (shape + n)
			sum += term
		}
		return scale * sum
	}
	// Lentz's method for x^a e^-x / (x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))).
	const tiny = 1e-300
	b := x + 1 - shape
	c, d := 1/tiny, 1/b
	f := d
	for n := 1.0; ; n++ {
		a := -n * (n - shape)
		b += 2
		d = 1 / nonzero(a*d+b, tiny)
		c = nonzero(b+a/c, tiny)
		f *= c * d
		if math.Abs(c*d-1) < 1e-14 {
			return 1 - scale*f
		}
	}
}

func nonzero(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}
