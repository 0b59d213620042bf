package command

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/shard/pacing"
)

// Every hour of a year belongs to the hour of the week that clocks show, also on the days of 23 and 25 hours and in zones
// whose offset is not a whole number of hours. The cells of one zone ascend, one for each hour that passes.
func TestCellOfFollowsLocalClocks(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Chatham"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		last := uint32(0)
		for at := time.Date(2026, 1, 1, 0, 7, 0, 0, time.UTC); at.Year() == 2026; at = at.Add(15 * time.Minute) {
			local := at.In(zone)
			_, offset := local.Zone()
			cell, hour := CellOf(at.Unix(), int64(offset))
			if want := (int(local.Weekday())+6)%7*24 + local.Hour(); int(hour) != want {
				t.Fatalf("%s, %s: hour %d of the week, want %d", name, local, hour, want)
			}
			start := time.Unix(int64(cell)*900, 0)
			if age := at.Sub(start); age < 0 || age >= time.Hour || cell < last {
				t.Fatalf("%s, %s: the hour began at %s", name, local, start.In(zone))
			}
			last = cell
		}
	}
}

// The day on which clocks are set back has 25 cells; hour 2 comes twice. The day on which they are set forward has 23.
func TestCellsOfDaysOfTimeChanges(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []struct{ month, date, cells, hour2 int }{{3, 29, 23, 0}, {10, 25, 25, 2}, {11, 1, 24, 1}} {
		cells, hours := map[uint32]bool{}, [pacing.HoursOfWeek]int{}
		start := time.Date(2026, time.Month(day.month), day.date, 0, 0, 0, 0, zone)
		for at := start; at.Day() == day.date; at = at.Add(time.Hour) {
			_, offset := at.Zone()
			cell, hour := CellOf(at.Unix(), int64(offset))
			cells[cell] = true
			hours[hour]++
		}
		const sunday = 6 * 24
		if len(cells) != day.cells || hours[sunday+2] != day.hour2 || hours[sunday+3] != 1 {
			t.Errorf("%s: %d cells, hour 2 comes %d times, hour 3 %d times", start.Format(time.DateOnly), len(cells), hours[sunday+2],
				hours[sunday+3])
		}
	}
}
