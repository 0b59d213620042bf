package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// TestCheckAnswerNoticesWrongWinners checks that only the right winners in the right order are accepted.
func TestCheckAnswerNoticesWrongWinners(t *testing.T) {
	bids := []int{1, 2, 3, 4, 5, 6}
	slices.SortFunc(bids, func(a, b int) int { return cmp.Compare(servingtest.Amount(b), servingtest.Amount(a)) })
	asked := request{auctions: [][]int{{1, 2, 3, 4, 5, 6}}}
	answer := func(winners ...int) string {
		var all []string
		for i, bid := range winners {
			all = append(all, fmt.Sprintf(`{"rank":%d,"type":"product","id":%q,"resolvedBidId":%q,"campaignId":%q}`,
				i+1, servingtest.ProductID(bid), strings.Repeat("t", 80), strings.Repeat("c", 36)))
		}
		return `{"results":[{"resultType":"listings","error":false,"winners":[` + strings.Join(all, ",") + `]}]}`
	}
	if err := checkAnswer(asked, []byte(answer(bids[:4]...))); err != nil {
		t.Errorf("the right answer: %v", err)
	}
	for name, wrong := range map[string]string{
		"a winner too few":   answer(bids[:3]...),
		"a winner too many":  answer(bids[:5]...),
		"the wrong order":    answer(bids[1], bids[0], bids[2], bids[3]),
		"the wrong winner":   answer(bids[0], bids[1], bids[2], bids[5]),
		"one winner twice":   answer(bids[0], bids[0], bids[1], bids[2]),
		"an unknown winner":  answer(bids[0], bids[1], bids[2], 7),
		"no result":          `{"results":[]}`,
		"no JSON":            `{"results":`,
		"a token cut short":  strings.Replace(answer(bids[:4]...), "tt", "t", 1),
		"ranks out of order": strings.Replace(answer(bids[:4]...), `"rank":2`, `"rank":3`, 1),
	} {
		if err := checkAnswer(asked, []byte(wrong)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestRequestsHaveTheirShape checks that requests have the number of auctions and ids of their shape, the right share of ids
// with a bid, and different bodies.
func TestRequestsHaveTheirShape(t *testing.T) {
	for _, s := range shapes {
		all := s.requests("key")
		bodies := map[string]bool{}
		for _, r := range all {
			_, body, _ := bytes.Cut(r.bytes, []byte("\r\n\r\n"))
			bodies[string(body)] = true
			var parsed struct {
				Auctions []struct{ Products struct{ IDs []string } }
			}
			if err := json.Unmarshal(body, &parsed); err != nil || len(parsed.Auctions) != s.auctions {
				t.Fatalf("%s: %v: %s", s.name(), err, body)
			}
			for i, a := range parsed.Auctions {
				if len(a.Products.IDs) != s.ids || len(r.auctions[i]) != s.ids*s.withBid/100 {
					t.Fatalf("%s: %d ids, %d with a bid", s.name(), len(a.Products.IDs), len(r.auctions[i]))
				}
			}
		}
		if len(bodies) < s.bodies-10 {
			t.Errorf("%s: only %d different bodies", s.name(), len(bodies))
		}
	}
}
