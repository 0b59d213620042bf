package pacing // float: the leader computes this; its results are replicated as integers.

import "math"

// Zone maps a moment in Unix seconds to the offset of local time from UTC in seconds. It must be a pure function; the
// daemon makes it from the marketplace's time zone.
type Zone func(utcSeconds int64) int64

// UTC is the zone without offset.
func UTC(int64) int64 { return 0 }

// DateFactor is an operator's multiplier of the traffic that is expected on one local date.
type DateFactor struct {
	Day    int64   // Local days since 1970-01-01.
	Factor float64 // 0 to DateFactorMax; 1 changes nothing.
}

// DateFactorMax bounds a DateFactor.
const DateFactorMax = 100

// Horizon is the time in both directions for which a caller should make a curve around the current time: it covers a
// month and the next one's first days.
const Horizon = 35 * 24 * 3600 * 1000

// Curve says how much traffic is expected when. It integrates the weights of the hours of the week over cells of 15
// minutes of UTC, each of which lies in one local hour, whatever the zone does. So days of 23 and 25 hours need no
// case. It is immutable.
type Curve struct {
	from  int64     // Start of the first cell, in milliseconds; a multiple of cellMillis.
	sums  []float64 // sums[i] is the weight of the first i cells, in average hours.
	level float64   // Auctions expected in an average hour; 0: not known.
	flat  bool      // All hours with traffic are alike, which is what a curve looks like before anything was learned.
}

// Lengths of cells and hours in milliseconds.
const (
	cellMillis  = 15 * 60 * 1000
	hourMillis  = 4 * cellMillis
	daySeconds  = 24 * 3600
	cellsOfHour = 4
	cellsMax    = 400 * 24 * cellsOfHour // BOUND: more than a year; 300 kB.
)

// NewCurve returns the curve of the weights and date factors in a zone. It follows them from fromMillis to toMillis, at
// most 400 days; before and after, every hour is an average one. The caller makes another one when the weights or
// factors change, and often enough for toMillis to stay ahead (Horizon). It costs about 10 ns and 8 bytes for each 15
// minutes, beside the zone.
func NewCurve(w *Weights, zone Zone, dates []DateFactor, fromMillis, toMillis int64) *Curve {
	from := floorDiv(inRange(fromMillis), cellMillis)
	cells := min(max(floorDiv(inRange(toMillis)-1, cellMillis)+1-from, 0), cellsMax)
	c := &Curve{from: from * cellMillis, sums: make([]float64, cells+1), level: float64(w.Level) / trafficUnit}
	sum := 0.0
	c.flat = len(dates) == 0 && w.flat()
	for i := range cells {
		day, hour := localHour((from+i)*cellMillis/1000, zone)
		sum += float64(w.Hours[hour]) / WeightOne / cellsOfHour * dateFactor(dates, day)
		c.sums[i+1] = sum
	}
	return c
}

// Uniform returns the curve of a marketplace of which nothing is known: every hour is an average one.
func Uniform() *Curve { return &Curve{sums: []float64{0}, flat: true} }

// Share returns the traffic that is expected between two moments, in average hours; 0 when to is not after from. Only
// ratios of shares mean something.
func (c *Curve) Share(fromMillis, toMillis int64) float64 {
	return max(c.at(inRange(toMillis))-c.at(inRange(fromMillis)), 0)
}

// at returns the weight from the first cell to a moment; negative before it. It never falls. REQUIRES: millis is
// inRange.
func (c *Curve) at(millis int64) float64 {
	d := millis - c.from
	if d < 0 {
		return float64(d) / hourMillis
	}
	i := d / cellMillis
	if last := int64(len(c.sums)) - 1; i >= last {
		return c.sums[last] + float64(d-last*cellMillis)/hourMillis
	}
	part := float64(d-i*cellMillis) * (1.0 / cellMillis) // A division would take four times as long.
	return c.sums[i] + part*(c.sums[i+1]-c.sums[i])
}

// localHour returns the local day since 1970-01-01 and the hour of the week of a moment.
func localHour(utcSeconds int64, zone Zone) (day int64, hour int) {
	local := utcSeconds + zone(utcSeconds)
	day = floorDiv(local, daySeconds)
	weekday := floorMod(day+3, 7) // 1970-01-01 was a Thursday.
	return day, int(weekday*24 + floorMod(local, daySeconds)/3600)
}

func dateFactor(dates []DateFactor, day int64) float64 {
	for _, d := range dates {
		if d.Day == day && !math.IsNaN(d.Factor) {
			return clamp(d.Factor, 0, DateFactorMax)
		}
	}
	return 1
}

// floorDiv and floorMod divide by a positive number and round down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// Traffic returns the auctions that are expected in an average hour; 0 when nothing was learned yet.
func (c *Curve) Traffic() float64 { return c.level }
