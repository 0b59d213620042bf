package main

import (
	"fmt"
	"slices"
)

// result is what one shape gave.
type result struct {
	shape
	bare, gavel    []float64 // CPU nanoseconds per request, by round.
	allocs         float64   // Heap allocations per request of Gavel.
	requestBytes   int       // Sizes of the first request's body and, on average, of the answers.
	answerBytes    int
	checked        int
	requestsServed int64
}

// measure runs one shape on both servers, alternately.
func measure(s shape, bare, gavel *child) (result, error) {
	r := result{shape: s}
	requests := s.requests(gavel.key)
	r.requestBytes = len(requests[0].bytes)
	toGavel, err := newLoad(gavel.addr, requests)
	if err != nil {
		return r, err
	}
	defer toGavel.close()
	toBare, err := newLoad(bare.addr, requests)
	if err != nil {
		return r, err
	}
	defer toBare.close()

	if r.checked, r.answerBytes, err = checkAnswers(toGavel.clients[0], requests); err != nil {
		return r, err
	}
	if _, err = bare.ask(fmt.Sprintf("answer %d", r.answerBytes)); err != nil {
		return r, err
	}
	for _, l := range []*load{toBare, toGavel} {
		if _, err = l.run(warmUpTime); err != nil {
			return r, err
		}
	}
	var mallocs uint64
	for range rounds {
		b, err := timed(bare, toBare)
		if err != nil {
			return r, fmt.Errorf("bare handler: %w", err)
		}
		g, err := timed(gavel, toGavel)
		if err != nil {
			return r, fmt.Errorf("gavel: %w", err)
		}
		r.bare = append(r.bare, b.perRequest())
		r.gavel = append(r.gavel, g.perRequest())
		mallocs += g.mallocs
		r.requestsServed += g.answered
	}
	r.allocs = float64(mallocs) / float64(r.requestsServed)
	return r, nil
}

// round is what one server used in one round.
type round struct {
	usage
	answered int64
}

func (r round) perRequest() float64 { return float64(r.cpuNanos) / float64(r.answered) }

func timed(c *child, l *load) (round, error) {
	before, err := c.ask("usage")
	if err != nil {
		return round{}, err
	}
	answered, err := l.run(roundTime)
	if err != nil {
		return round{}, err
	}
	after, err := c.ask("usage")
	return round{usage{after.cpuNanos - before.cpuNanos, after.mallocs - before.mallocs}, answered}, err
}

// ratio is the bare handler's median CPU per request over Gavel's.
func (r result) ratio() float64 { return median(r.bare) / median(r.gavel) }

// spread returns the lowest and the highest ratio of a round, in which both servers ran one right after the other.
func (r result) spread() (low, high float64) {
	ratios := make([]float64, len(r.bare))
	for i := range ratios {
		ratios[i] = r.bare[i] / r.gavel[i]
	}
	return slices.Min(ratios), slices.Max(ratios)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
