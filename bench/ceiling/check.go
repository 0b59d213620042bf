package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/money"
)

// checksMax is how many answers of a shape are checked before it is measured, so that the speed of wrong answers is never
// reported.
const checksMax = 200

// checkAnswers compares answers with a naive model and returns how many it compared and their average size.
func checkAnswers(c *client, requests []request) (checked, averageSize int, err error) {
	total := 0
	for ; checked < min(checksMax, len(requests)); checked++ {
		body, err := c.exchange(requests[checked].bytes)
		if err != nil {
			return checked, 0, err
		}
		if err = checkAnswer(requests[checked], body); err != nil {
			return checked, 0, fmt.Errorf("request %d: %w: %s", checked, err, body)
		}
		total += len(body)
	}
	return checked, total / checked, nil
}

// checkAnswer checks that the winners of an auction are the products with the highest bids, each once, best first. The engine
// decides which of two equal bids wins, so amounts are compared and not ids.
func checkAnswer(r request, body []byte) error {
	var answer struct {
		Results []struct {
			ResultType string
			Winners    []struct {
				Rank                          int
				ID, ResolvedBidID, CampaignID string
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if len(answer.Results) != len(r.auctions) {
		return fmt.Errorf("%d results of %d auctions", len(answer.Results), len(r.auctions))
	}
	for i, result := range answer.Results {
		amounts := map[string]money.Micros{}
		for _, bid := range r.auctions[i] {
			amounts[servingtest.ProductID(bid)] = servingtest.Amount(bid)
		}
		var want []money.Micros
		for _, amount := range amounts {
			want = append(want, amount)
		}
		slices.SortFunc(want, func(a, b money.Micros) int { return int(b - a) })
		want = want[:min(slots, len(want))]
		var got []money.Micros
		for rank, w := range result.Winners {
			if w.Rank != rank+1 || len(w.ResolvedBidID) != 80 || len(w.CampaignID) != 36 {
				return fmt.Errorf("auction %d has the winner %+v at position %d", i, w, rank)
			}
			got = append(got, amounts[w.ID])
			delete(amounts, w.ID)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("auction %d was won by bids of %v, not %v", i, got, want)
		}
	}
	return nil
}
