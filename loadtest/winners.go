package main

import (
	"fmt"

	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// pageWinners counts the answers to requests for the ads of one kind of page, and their winners.
type pageWinners struct {
	Page              string
	Requests, Winners int64
}

// countWinners counts an answer. A request that names no page is not counted.
func (t *tally) countWinners(req *scenarios.Request, answer []byte) {
	if req.Page != "" {
		t.addWinners(pageWinners{req.Page, 1, int64(scenarios.CountWinners(answer))})
	}
}

func (t *tally) addWinners(n pageWinners) {
	for i := range t.pages {
		if p := &t.pages[i]; p.Page == n.Page {
			p.Requests += n.Requests
			p.Winners += n.Winners
			return
		}
	}
	t.pages = append(t.pages, n)
}

// withoutWinners describes the pages of which no request had a winner: their latency says nothing about auctions.
func (t *tally) withoutWinners() (faults []string) {
	for _, p := range t.pages {
		if p.Winners == 0 {
			faults = append(faults, fmt.Sprintf("none of %d answers for %s had a winner: does the market have such ads?", p.Requests, p.Page))
		}
	}
	return faults
}
