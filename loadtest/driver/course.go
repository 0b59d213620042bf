package driver

import (
	"math"
	"strconv"
	"time"
)

// courses are the rates of typical traffic at equal distances over the duration, in any unit; between two of them the rate
// changes evenly. A plan scales them to its mean.
//
//   - day: a shop's day from midnight, quiet at 4 o'clock and busiest at 20, pressed into the duration.
//   - crowd: a steady rate, then six times as much within a twentieth of the duration, as after a mail to all
//     customers, for a quarter of it, and back.
var courses = map[string][]float64{
	"day": {
		52, 34, 23, 17, 16, 20, 33, 55, 77, 93, 105, 113, 118, 116, 113, 115, 122, 133, 150, 168, 175, 157, 122, 84, 52,
	},
	"crowd": {1, 1, 1, 1, 1, 1, 1, 1, 6, 6, 6, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1},
}

// part is a straight line of a course. Begin and seconds are seconds; from and to are requests a second.
type part struct {
	begin, seconds, from, to float64
	before                   float64 // Requests due before it.
}

// newCourse returns the plan of a named course with a mean rate.
func newCourse(name, mean string, duration time.Duration) (Plan, bool) {
	rates, known := courses[name]
	rate, err := strconv.ParseFloat(mean, 64)
	if !known || err != nil || !(rate > 0) || math.IsInf(rate, 0) {
		return Plan{}, false
	}
	area := 0. // Under the lines, with a distance of 1.
	for i := 1; i < len(rates); i++ {
		area += (rates[i-1] + rates[i]) / 2
	}
	lines := float64(len(rates) - 1)
	scale, seconds := rate*lines/area, duration.Seconds()/lines
	p := Plan{shape: course, duration: duration}
	before := 0.
	for i := 1; i < len(rates); i++ {
		from, to := scale*rates[i-1], scale*rates[i]
		p.parts = append(p.parts, part{float64(i-1) * seconds, seconds, from, to, before})
		before += seconds * (from + to) / 2
	}
	return p, true
}

// courseDue returns when request i is due in seconds; NaN or more than the duration after the last request.
func (p Plan) courseDue(i float64) float64 {
	for k := len(p.parts) - 1; k > 0; k-- {
		if i >= p.parts[k].before {
			return p.parts[k].due(i)
		}
	}
	return p.parts[0].due(i)
}

func (x *part) due(i float64) float64 { return x.begin + rampDue(i-x.before, x.from, x.to, x.seconds) }
