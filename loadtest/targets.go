package main

import (
	"errors"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// targeted is a connection to one of the auction listeners.
type targeted struct {
	scenarios.Poster
	target int // The index of its URL.
}

// targetOf returns the listener that a connection goes to; 0 when there is only one.
func targetOf(c scenarios.Poster) int {
	if t, is := c.(targeted); is {
		return t.target
	}
	return 0
}

// targetLatency is the latencies of the requests to one listener.
type targetLatency struct {
	URL      string
	Requests int64
	Latency  map[string]time.Duration
}

// fillTargets sets the latencies by listener, if there are several. Each worker has one connection, to one listener.
func (o *outcome) fillTargets(urls []string, all []*tally) {
	if len(urls) < 2 {
		return
	}
	sums := make([]driver.Histogram, len(urls))
	for _, t := range all {
		sums[t.target].Merge(&t.latency)
	}
	for i, url := range urls {
		o.Targets = append(o.Targets, targetLatency{url, sums[i].Count(), quantiles(&sums[i])})
	}
}

// readTargets reads base URLs, separated by commas.
func readTargets(text string) ([]string, error) {
	all := strings.Split(text, ",")
	for _, url := range all {
		if _, err := driver.NewConn(url, "", time.Second); err != nil {
			return nil, errors.Join(errors.New("--auction"), err)
		}
	}
	return all, nil
}
