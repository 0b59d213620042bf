package cluster

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
)

func TestPeriodsFollowTheLocalCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string, zone *time.Location) command.Periods {
		t.Helper()
		instant, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return PeriodsAt(7, instant, zone)
	}
	tests := []struct {
		name      string
		at        string
		zone      *time.Location
		day, week uint32
		month     uint32
	}{
		{"the epoch was a Thursday", "1970-01-01T00:00:00Z", time.UTC, 0, 0, 1970*12 + 1},
		{"the first Monday begins week 1", "1970-01-05T00:00:00Z", time.UTC, 4, 1, 1970*12 + 1},
		{"Sunday still belongs to the old week", "1970-01-04T23:59:59Z", time.UTC, 3, 0, 1970*12 + 1},
		{"midnight comes earlier in Berlin", "2026-01-31T23:30:00Z", berlin, 20485, 2926, 2026*12 + 2},
		{"summer time begins that night", "2026-03-28T23:00:00Z", berlin, 20541, 2934, 2026*12 + 3},
	}
	for _, tt := range tests {
		want := command.Periods{Marketplace: 7, Day: tt.day, Week: tt.week, Month: tt.month}
		if got := at(tt.at, tt.zone); got != want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, want)
		}
	}
}
