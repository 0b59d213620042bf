package driver

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Plan is a schedule of requests: it says when each request of an open-loop run is due. It is immutable and may be used by several
// goroutines.
//
// A plan is a pure function of the number of the request. Workers take numbers from one counter and send each request at its
// due time, or at once when that has passed; latency counts from the due time either way. So the latency contains a stall of
// the server for every request that should have been sent during the stall (no coordinated omission), and it does not matter
// which worker sends a request.
type Plan struct {
	shape    shape
	rate     float64 // Requests a second at the start.
	to       float64 // Ramp: requests a second at the end.
	duration time.Duration
	size     int64  // Burst: requests that are due together.
	parts    []part // Course: straight lines one after the other.
}

type shape uint8

const (
	closed shape = iota
	constant
	ramp
	burst
	course
)

// ClosedPlan returns the plan without a schedule: every worker sends when its last request was answered. It finds the capacity of a
// server; its latencies hide stalls and are no evidence.
func ClosedPlan(duration time.Duration) Plan { return Plan{shape: closed, duration: duration} }

// ParsePlan reads a plan from the command line: "0" is closed, "500" is 500 requests a second evenly spaced, "100..900" a
// linear ramp from 100 to 900 over the duration, and "500x20" bursts of 20 requests due together, 500 a second in all.
// "day:500" and "crowd:500" are courses of a mean rate; see courses.
func ParsePlan(text string, duration time.Duration) (Plan, error) {
	if duration <= 0 {
		return Plan{}, errors.New("the duration has to be above 0")
	}
	bad := fmt.Errorf("rate %q: want 0, R, FROM..TO, RxBURST, day:R or crowd:R", text)
	if name, mean, found := strings.Cut(text, ":"); found {
		p, ok := newCourse(name, mean, duration)
		if !ok {
			return Plan{}, bad
		}
		return p, nil
	}
	p := Plan{shape: constant, duration: duration}
	first, rest := text, ""
	if from, to, found := strings.Cut(text, ".."); found {
		p.shape, first, rest = ramp, from, to
	} else if rate, size, found := strings.Cut(text, "x"); found {
		p.shape, first, rest = burst, rate, size
	}
	rate, err := strconv.ParseFloat(first, 64)
	if err != nil || rate < 0 || math.IsNaN(rate) || math.IsInf(rate, 0) {
		return Plan{}, bad
	}
	p.rate = rate
	switch p.shape {
	case ramp:
		if p.to, err = strconv.ParseFloat(rest, 64); err != nil || !(p.to >= 0) || p.rate+p.to <= 0 || math.IsInf(p.to, 0) {
			return Plan{}, bad
		}
	case burst:
		if p.size, err = strconv.ParseInt(rest, 10, 64); err != nil || p.size < 1 || rate == 0 {
			return Plan{}, bad
		}
	default:
		if rate == 0 {
			return ClosedPlan(duration), nil
		}
	}
	return p, nil
}

// Open reports whether the plan has due times.
func (p Plan) Open() bool { return p.shape != closed }

// Duration is how long the plan sends.
func (p Plan) Duration() time.Duration { return p.duration }

// Due returns when request i, counted from 0, is due after the start, and false when the plan has ended before it.
// REQUIRES: an open plan.
func (p Plan) Due(i int64) (time.Duration, bool) {
	var seconds float64
	switch p.shape {
	case ramp:
		seconds = rampDue(float64(i), p.rate, p.to, p.duration.Seconds())
	case course:
		seconds = p.courseDue(float64(i))
	case burst:
		seconds = float64(i/p.size*p.size) / p.rate
	default:
		seconds = float64(i) / p.rate
	}
	if math.IsNaN(seconds) || seconds >= p.duration.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// rampDue solves from*t + slope*t*t/2 = i, the number of requests due until t, for t >= 0. A falling ramp has no
// solution (NaN) after its last request.
func rampDue(i, from, to, seconds float64) float64 {
	slope := (to - from) / seconds
	if slope == 0 {
		return i / from
	}
	// This form of the solution subtracts no nearly equal numbers. At i = 0 the result is 0, also when the rate starts at 0.
	if i == 0 {
		return 0
	}
	return 2 * i / (from + math.Sqrt(from*from+2*slope*i))
}
