package pacing

import (
	"testing"
	"time"
)

// Bounds agrees with package time for every quarter of an hour of years in which clocks change.
func TestBoundsAgreeWithPackageTime(t *testing.T) {
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Kiritimati",
	} {
		l := location(t, name)
		zone := zoneOf(l)
		for at := time.Date(2023, 12, 20, 0, 7, 0, 0, time.UTC); at.Year() < 2025; at = at.Add(7 * time.Hour) {
			local := at.In(l)
			y, m, d := local.Date()
			monday := d - (int(local.Weekday())+6)%7
			for span, want := range map[Span][2]time.Time{
				Day:   {time.Date(y, m, d, 0, 0, 0, 0, l), time.Date(y, m, d+1, 0, 0, 0, 0, l)},
				Week:  {time.Date(y, m, monday, 0, 0, 0, 0, l), time.Date(y, m, monday+7, 0, 0, 0, 0, l)},
				Month: {time.Date(y, m, 1, 0, 0, 0, 0, l), time.Date(y, m+1, 1, 0, 0, 0, 0, l)},
			} {
				start, end := Bounds(span, zone, at.UnixMilli())
				if start != want[0].UnixMilli() || end != want[1].UnixMilli() {
					t.Fatalf("%s, span %d of %v: %v to %v, want %v to %v", name, span, local,
						time.UnixMilli(start).In(l), time.UnixMilli(end).In(l), want[0], want[1])
				}
			}
		}
	}
}

// Where the clock is set over midnight, a day starts at the first moment with its date.
func TestBoundsWhereMidnightIsMissing(t *testing.T) {
	for _, test := range []struct{ zone, at, start, end string }{
		{"America/Sao_Paulo", "2018-11-04T12:00:00-02:00", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{"America/Sao_Paulo", "2018-11-03T12:00:00-03:00", "2018-11-03T00:00:00-03:00", "2018-11-04T01:00:00-02:00"},
		{"America/Sao_Paulo", "2018-02-17T12:00:00-02:00", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00"},
		// Samoa skipped a day.
		{"Pacific/Apia", "2011-12-29T12:00:00-10:00", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
	} {
		at, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		l := location(t, test.zone)
		start, end := Bounds(Day, zoneOf(l), at.UnixMilli())
		format := func(millis int64) string { return time.UnixMilli(millis).In(l).Format(time.RFC3339) }
		if format(start) != test.start || format(end) != test.end {
			t.Errorf("%s: %s to %s, want %s to %s", test.at, format(start), format(end), test.start, test.end)
		}
	}
}
