package main

import (
	"fmt"
	"slices"
)

// The indexes of the servers.
const (
	bareServer = iota
	gavelServer
	rivalServer // It exists only with -rival.
)

// result is the result of one shape.
type result struct {
	shape
	cpu            [][]float64 // CPU nanoseconds per request, by server and round.
	allocs         float64     // Gavel's heap allocations per request.
	requestBytes   int         // The size of the first request.
	answerBytes    int         // The average size of the answers' bodies.
	checked        int         // How many answers were compared with the model.
	requestsServed int64       // How many requests Gavel answered in all rounds.
}

// measure runs one shape on all servers, alternately.
func measure(s shape, servers []*child) (result, error) {
	r := result{shape: s, cpu: make([][]float64, len(servers))}
	requests := s.requests(servers[gavelServer].key)
	r.requestBytes = len(requests[0].bytes)
	loads := make([]*load, len(servers))
	for i, c := range servers {
		if i == rivalServer {
			requests = s.requests(c.key)
		}
		l, err := newLoad(c.addr, requests)
		if err != nil {
			return r, err
		}
		defer l.close()
		loads[i] = l
	}
	var err error
	for _, l := range loads[gavelServer:] {
		if r.checked, r.answerBytes, err = checkAnswers(l.clients[0], l.requests); err != nil {
			return r, err
		}
	}
	if _, err = servers[bareServer].ask(fmt.Sprintf("answer %d", r.answerBytes)); err != nil {
		return r, err
	}
	for _, l := range loads {
		if _, err = l.run(warmUpTime); err != nil {
			return r, err
		}
	}
	var mallocs uint64
	for range rounds {
		for i, c := range servers {
			t, err := timed(c, loads[i])
			if err != nil {
				return r, fmt.Errorf("server %d: %w", i, err)
			}
			r.cpu[i] = append(r.cpu[i], t.perRequest())
			if i == gavelServer {
				mallocs += t.mallocs
				r.requestsServed += t.answered
			}
		}
	}
	r.allocs = float64(mallocs) / float64(r.requestsServed)
	return r, nil
}

// round is the usage of one server in one round.
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

// ratio is one server's median CPU per request over another's.
func (r result) ratio(of, over int) float64 { return median(r.cpu[of]) / median(r.cpu[over]) }

// spread returns the lowest and the highest ratio of a round, in which both servers ran one right after the other.
func (r result) spread(of, over int) (low, high float64) {
	ratios := make([]float64, len(r.cpu[of]))
	for i := range ratios {
		ratios[i] = r.cpu[of][i] / r.cpu[over][i]
	}
	return slices.Min(ratios), slices.Max(ratios)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
