package floats // float: only one process computes this file, and what it shares is rounded to integers.

import "time"

func shade(x float64) (float64, time.Time) {
	return x * 0.5, time.Now() // want: clock
}
