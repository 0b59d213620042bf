package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/shop"
)

// spentOf has campaigns with these shares of their budgets after each quarter of the time.
func spentOf(shares ...[]float64) *spent {
	var campaigns []shop.Campaign
	for range shares {
		campaigns = append(campaigns, shop.Campaign{ID: string(rune('a' + len(campaigns))), Name: "Campaign"})
	}
	s := newSpent(campaigns, time.Time{}, time.Minute)
	s.at, s.shares = []float64{0, 0.25, 0.5, 0.75, 1}, shares
	return s
}

func TestDistanceFromThePlan(t *testing.T) {
	s := spentOf(
		[]float64{0, 0.25, 0.5, 0.75, 1},
		[]float64{0, 0.75, 0.75, 0.75, 1}, // Far ahead early.
		[]float64{0, 0.25, 0.4, 0.65, 0.9},
	)
	for k, want := range []float64{0, 0.5, 0.1} {
		if got := s.distance(k); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("campaign %d: %v, want %v", k, got, want)
		}
	}
	if nearest, middle, furthest := s.ranked(); nearest != 0 || middle != 2 || furthest != 1 {
		t.Error(nearest, middle, furthest)
	}
	var text strings.Builder
	if err := s.chart().Write(&text); err != nil || !strings.Contains(text.String(), "furthest: 0.500") {
		t.Error(err, text.String())
	}
	if err := s.print(&text); err != nil || !strings.Contains(text.String(), "largest distance from the plan: median 0.100") {
		t.Error(err, text.String())
	}
}

func TestWhatIsBilledAboveABudgetFails(t *testing.T) {
	for _, shares := range [][]float64{{0, 0.25, 0.5, 0.75, 1.001}, {0, 0, 0, 0, 0}} {
		if err := spentOf(shares).print(&strings.Builder{}); err == nil || !strings.Contains(err.Error(), "of its budget") {
			t.Errorf("%v: %v", shares, err)
		}
	}
}

// A budget pays the same number of clicks at the mean bid of its campaign, and no two campaigns bid on one product.
func TestSpendingMarket(t *testing.T) {
	m := spendingMarket(50, 3)
	seen := map[int]bool{}
	for _, c := range m.Campaigns {
		sum := int64(0)
		for _, b := range c.Bids {
			if seen[b.Product] {
				t.Fatalf("product %d has two bids", b.Product)
			}
			seen[b.Product] = true
			sum += b.AmountMinor
		}
		if len(c.Bids) != spendingProducts || c.BudgetMinor != sum*spendingClicks/spendingProducts {
			t.Errorf("%+v", c)
		}
	}
}
