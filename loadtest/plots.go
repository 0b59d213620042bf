package main

import (
	"fmt"
	"math"
	"time"

	"github.com/gavel-ads/gavel/bench/chart"
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// nines is the last point of the plot by percentile, as a power of ten: 5 is 99.999 %.
const nines = 5

// percentiles draws the latency of each kind by percentile. The axis is logarithmic in the share of slower requests, so that
// the tail takes as much of the width as the rest. A line ends where fewer than one request is slower.
func (o *outcome) percentiles() *chart.Chart {
	c := &chart.Chart{
		Title: "Latency by percentile", Subtitle: "from the instant at which a request was due",
		X: chart.Decades("percentile", 1, math.Pow(10, nines)),
	}
	c.X.Format = func(v float64) string { return fmt.Sprintf("%.10g %%", 100-100/v) }
	const steps = 20 // Points per power of ten.
	for k := range kinds {
		h := o.timeline.whole(k)
		if h.Count() == 0 {
			continue
		}
		line := chart.Series{Name: kindNames[k]}
		for i := 0; i <= nines*steps; i++ {
			slower := math.Pow(10, float64(i)/steps) // One of so many requests.
			if slower > float64(h.Count()) {
				break
			}
			line.Points = append(line.Points, chart.Point{X: slower, Y: milliseconds(h.Quantile(max(1-1/slower, 1e-9)))})
		}
		c.Series = append(c.Series, line)
	}
	return withDecades(c, "latency in ms")
}

// latencies draws the p99 of each kind by interval.
func (o *outcome) latencies() *chart.Chart {
	c := &chart.Chart{Title: "p99 over time", Subtitle: fmt.Sprintf("of the requests due in each interval of %v", o.timeline.step), X: o.seconds()}
	c.Series = o.overTime(func(k *kindInterval) float64 { return milliseconds(k.P99) })
	return withDecades(c, "p99 in ms")
}

// throughput draws the requests a second of each kind, without those to the bare server.
func (o *outcome) throughput() *chart.Chart {
	c := &chart.Chart{Title: "Requests over time", Subtitle: "answered or given up, by the interval in which they were due", X: o.seconds()}
	for _, line := range o.overTime(func(k *kindInterval) float64 { return float64(k.Requests) / o.timeline.step.Seconds() }) {
		if line.Name != kindNames[kindBare] {
			c.Series = append(c.Series, line)
		}
	}
	return fromZero(c, "requests a second")
}

// overTime returns a line for each kind, with a value for each interval that has requests of it.
func (o *outcome) overTime(value func(*kindInterval) float64) []chart.Series {
	var all [kinds]chart.Series
	for i := range o.Intervals {
		from := o.Intervals[i].From.Seconds()
		for j := range o.Intervals[i].Kinds {
			in := &o.Intervals[i].Kinds[j]
			for k := range kinds {
				if kindNames[k] == in.Kind {
					all[k].Name = in.Kind
					all[k].Points = append(all[k].Points, chart.Point{X: from, Y: value(in)})
				}
			}
		}
	}
	var some []chart.Series
	for _, line := range all {
		if len(line.Points) > 0 {
			some = append(some, line)
		}
	}
	return some
}

// usage draws what the nodes used between each two readings of their metrics; nil when they were not read twice.
func (o *outcome) usage(title, unit string, value func(from, to *usage, seconds float64) float64) *chart.Chart {
	c := &chart.Chart{Title: title, Subtitle: "by the nodes' own metrics", X: o.seconds()}
	line := chart.Series{Name: "all nodes"}
	for i := 1; i < len(o.observed); i++ {
		from, to := &o.observed[i-1], &o.observed[i]
		if seconds := (to.At - from.At).Seconds(); seconds > 0 {
			line.Points = append(line.Points, chart.Point{X: to.At.Seconds(), Y: value(from, to, seconds)})
		}
	}
	if len(line.Points) > 0 {
		c.Series = append(c.Series, line)
	}
	return fromZero(c, unit)
}

// seconds is the axis of the time since the start.
func (o *outcome) seconds() chart.Axis {
	return chart.FromZero("seconds since the start", max(o.Elapsed, time.Duration(len(o.timeline.intervals))*o.timeline.step).Seconds())
}

// withDecades gives a chart a logarithmic axis that contains all of its values; nil for a chart without values.
func withDecades(c *chart.Chart, title string) *chart.Chart {
	least, most := extremes(c)
	if !(least > 0) || most < least {
		return nil
	}
	c.Y = chart.Decades(title, least, most)
	return c
}

// fromZero gives a chart a linear axis that contains all of its values; nil for a chart without values.
func fromZero(c *chart.Chart, title string) *chart.Chart {
	least, most := extremes(c)
	if most < least {
		return nil
	}
	c.Y = chart.FromZero(title, most)
	return c
}

// extremes returns the smallest and the largest value of a chart; without values the largest is below the smallest.
func extremes(c *chart.Chart) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, p := range s.Points {
			least, most = min(least, p.Y), max(most, p.Y)
		}
	}
	return least, most
}
