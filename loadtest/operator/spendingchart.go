package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/bench/chart"
)

// chart draws what was billed of each budget over the time, and the plan. The campaigns that are nearest to the plan and furthest from it,
// and the one between, are named; all others are thin lines.
func (s *spent) chart() *chart.Chart {
	shares := []float64{0, 0.25, 0.5, 0.75, 1}
	c := &chart.Chart{
		Title:    "What was billed of each budget",
		Subtitle: fmt.Sprintf("%d campaigns on three nodes, a shop's day of traffic within %v", len(s.names), s.duration),
		X:        chart.Axis{Title: "part of the time", Max: 1, Ticks: shares, Format: chart.Percent},
		Y:        chart.Axis{Title: "part of the budget", Max: 1, Ticks: shares, Format: chart.Percent},
		Series:   []chart.Series{{Name: "plan", Dashed: true, Points: []chart.Point{{}, {X: 1, Y: 1}}}},
	}
	nearest, middle, furthest := s.ranked()
	for _, named := range []struct {
		campaign int
		name     string
	}{{furthest, "furthest"}, {middle, "median"}, {nearest, "nearest"}} {
		c.Series = append(c.Series, chart.Series{Name: fmt.Sprintf("%s: %.3f", named.name, s.distance(named.campaign)), Points: s.line(named.campaign)})
	}
	for k := range s.names {
		if k != nearest && k != middle && k != furthest {
			c.Series = append(c.Series, chart.Series{Points: s.line(k)})
		}
	}
	return c
}

func (s *spent) line(campaign int) (points []chart.Point) {
	for i, share := range s.shares[campaign] {
		points = append(points, chart.Point{X: s.at[i], Y: share})
	}
	return points
}

// ranked returns the campaigns with the smallest, the median and the largest distance from the plan.
func (s *spent) ranked() (nearest, middle, furthest int) {
	all := make([]int, len(s.names))
	for k := range all {
		all[k] = k
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(s.distance(a), s.distance(b)) })
	return all[0], all[len(all)/2], all[len(all)-1]
}
