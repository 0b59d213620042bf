package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/gavel-ads/gavel/bench/pacing"
	"github.com/gavel-ads/gavel/bench/pacing/record"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
)

// addTraffic makes the days of a comparison of a recorded one.
func (c *simulateCommand) addTraffic(o *pacing.Options) error {
	file, err := os.Open(c.Traffic)
	if err != nil {
		return err
	}
	recording, err := record.Read(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", c.Traffic, err)
	}
	changes, err := c.changes()
	if err != nil {
		return err
	}
	o.Watch = append(o.Watch, c.Watch...)
	for _, ids := range [][]string{slices.Sorted(maps.Keys(changes.Budgets)), slices.Sorted(maps.Keys(changes.BidFactors))} {
		for _, id := range ids {
			if !slices.Contains(o.Watch, id) {
				o.Watch = append(o.Watch, id)
			}
		}
	}
	o.Day = func(seed uint64, number int) (*scenario.Day, error) {
		return recording.Day(seed+uint64(number)<<32, changes) // Another number is the same day with other shoppers.
	}
	_, err = o.Day(1, 0) // So that a wrong campaign is a usage error.
	return err
}

// changes parses what is supposed to differ from the recorded day.
func (c *simulateCommand) changes() (*record.Changes, error) {
	changes := &record.Changes{Budgets: map[string]int64{}, BidFactors: map[string]float64{}, ReserveCPC: -1, ReserveCPM: -1}
	if c.Assume.Reserve != nil {
		changes.ReserveCPC = int64(*c.Assume.Reserve * 1e6)
	}
	for id, text := range c.SetBudget {
		amount, err := strconv.ParseFloat(text, 64)
		if err != nil || !(amount > 0 && amount < 1e9) {
			return nil, fmt.Errorf("--set-budget %s=%s: the budget must be a number above 0", id, text)
		}
		changes.Budgets[id] = int64(amount * 1e6)
	}
	for id, text := range c.ScaleBids {
		factor, err := strconv.ParseFloat(text, 64)
		if err != nil || !(factor > 0 && factor <= 1000) {
			return nil, fmt.Errorf("--scale-bids %s=%s: the factor must be above 0 and at most 1000", id, text)
		}
		changes.BidFactors[id] = factor
	}
	return changes, nil
}
