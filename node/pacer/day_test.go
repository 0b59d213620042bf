package pacer

import (
	"math"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// twoPeaks is the traffic of each local hour of a day relative to the mean: peaks at 10:00 and 21:00.
var twoPeaks = [24]float64{
	0.4, 0.2, 0.15, 0.15, 0.15, 0.3, 0.6, 1, 1.4, 1.7, 1.8, 1.6, 1.3, 1.1, 1, 1, 1.1, 1.2, 1.4, 1.6, 1.7, 1.65, 1.2, 0.7,
}

// meanLoad is the mean load of the day.
const meanLoad = 4

// dayOfTraffic returns the traffic from a local midnight to each quarter of an hour of the day, relative to that of the day.
func dayOfTraffic(midnight, next time.Time, competes func(hour int) bool) (until []float64) {
	sum := 0.0
	for at := midnight; at.Before(next); at = at.Add(15 * time.Minute) {
		until = append(until, sum)
		if hour := at.Hour(); competes(hour) {
			sum += twoPeaks[hour]
		}
	}
	for i := range until {
		until[i] /= sum
	}
	return append(until, 1)
}

// After two learned weeks the spend of a campaign follows the two peaks of the day, on a day of 25 hours and one of 23 too,
// and a schedule makes a plan of its own hours.
func TestSpendFollowsTheLearnedDay(t *testing.T) {
	always := func(int) bool { return true }
	office := func(hour int) bool { return hour >= 9 && hour < 17 }
	for name, x := range map[string]struct {
		date     string
		competes func(hour int) bool
	}{
		"a day of 24 hours": {"2026-11-23", always},
		"a day of 25 hours": {"2026-10-25", always},
		"a day of 23 hours": {"2026-03-29", always},
		"office hours":      {"2026-11-23", office},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "a day of 25 hours" {
				t.Skip("one day takes seconds")
			}
			testDay(t, berlin(t), x.date, x.competes)
		})
	}
}

func testDay(t *testing.T, zone *time.Location, date string, competes func(hour int) bool) {
	midnight, err := time.ParseInLocation("2006-01-02", date, zone)
	if err != nil {
		t.Fatal(err)
	}
	plan := dayOfTraffic(midnight, midnight.AddDate(0, 0, 1), competes)
	const budget = 80_000 * fleetCost // About a quarter of what full bids would win.
	var schedule []uint16
	for hour := range model.ScheduleHours {
		factor := uint16(0)
		if competes(hour % 24) {
			factor = model.ScheduleOne
		}
		schedule = append(schedule, factor)
	}
	n := newSolo(t, zone, midnight.Add(-10*time.Second), budget, schedule)
	n.teach(midnight.Add(-time.Hour))

	worst := 0.0
	for i, want := range plan {
		at := midnight.Add(time.Duration(i) * 15 * time.Minute)
		n.runUntil(at)
		if i > 0 && i < len(plan)-1 {
			got := float64(n.spent()) / budget
			worst = max(worst, math.Abs(got-min(want/(1-pacing.Defaults().FastFinish), 1)))
			if i%8 == 0 {
				t.Logf("%s: %.3f of the budget, planned %.3f", at.Format("15:04"), got, want)
			}
		}
		n.load = twoPeaks[at.Hour()] * meanLoad
	}
	if worst > 0.03 {
		t.Errorf("the spend was up to %.3f of the budget off the plan", worst)
	}
}
