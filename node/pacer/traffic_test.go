package pacer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	return zone
}

// An hour is that of local clocks, however long it is: when clocks are set back one comes twice, and where they change by
// half an hour, the rest of an hour is another one.
func TestHourAt(t *testing.T) {
	lordHowe, err := time.LoadLocation("Australia/Lord_Howe")
	if err != nil {
		t.Skip(err)
	}
	const day = 24 * 3600
	for _, x := range []struct {
		zone              *time.Location
		at                string // In UTC.
		before, after     int64  // Seconds from the start and to the end.
		hour              uint8
		minutes, previous uint8 // The length of this and of the hour before.
	}{
		{time.UTC, "2026-11-23 13:20", 20 * 60, 40 * 60, 13, 60, 60},
		{time.UTC, "2026-11-23 00:00", 0, 3600, 0, 60, 60},
		{berlin(t), "2026-10-25 00:59", 59 * 60, 60, 6*24 + 2, 60, 60}, // 2:59, for the first time.
		{berlin(t), "2026-10-25 01:00", 0, 3600, 6*24 + 2, 60, 60},     // 2:00, for the second time.
		{berlin(t), "2026-03-29 01:00", 0, 3600, 6*24 + 3, 60, 60},
		{lordHowe, "2026-04-04 15:10", 10 * 60, 20 * 60, 6*24 + 1, 30, 60}, // 1:40, for the second time.
		{lordHowe, "2026-10-03 15:45", 15 * 60, 15 * 60, 6*24 + 2, 30, 60}, // 2:00 is skipped, 2:30 is not.
	} {
		at, err := time.Parse("2006-01-02 15:04", x.at)
		if err != nil {
			t.Fatal(err)
		}
		h := hourAt(x.zone, at.Unix())
		previous := hourAt(x.zone, h.start-1)
		if at.Unix()-h.start != x.before || h.end-at.Unix() != x.after || h.hour != x.hour || h.minutes() != x.minutes || previous.minutes() != x.previous {
			t.Errorf("%s: %+v of %d minutes, after one of %d", x.at, h, h.minutes(), previous.minutes())
		}
		if previous.end != h.start || previous.cell >= h.cell {
			t.Errorf("%s: %+v comes after %+v", x.at, h, previous)
		}
	}
	for at := int64(1_790_000_000); at < 1_790_000_000+400*day; at += 900 { // Every hour of a year, without gaps.
		h := hourAt(lordHowe, at)
		if next := hourAt(lordHowe, h.end); next.start != h.end || next.cell <= h.cell || at < h.start || at >= h.end {
			t.Fatalf("%+v comes after %+v", next, h)
		}
	}
}

// A report that is too long for a message is divided, and only the last part says that it is complete.
func TestHourReportIsDivided(t *testing.T) {
	r := hourReport{node: 65535, start: 1<<32 - 1, since: 1 << 40, at: 1<<40 + 1}
	for m := range uint16(100) {
		h := marketHour{marketplace: 65535 - m, hourCount: hourCount{cell: 1<<32 - 1}}
		for f := range h.auctions {
			h.auctions[f] = command.TrafficMax
		}
		r.hours = append(r.hours, h)
	}
	const bytesMax = 500
	var hours []marketHour
	messages := r.split(bytesMax)
	for i, message := range messages {
		got, err := readHourReport(message)
		if err != nil || len(message) > bytesMax || (got.at == r.at) != (i == len(messages)-1) || got.since != r.since {
			t.Fatalf("part %d of %d: %d bytes, %+v, %v", i, len(messages), len(message), got, err)
		}
		hours = append(hours, got.hours...)
		for n := range len(message) - 1 {
			if _, err := readHourReport(message[:n]); err == nil && n > 0 && n < 8 {
				t.Errorf("the first %d bytes of a message are taken for one", n)
			}
		}
	}
	if len(hours) != len(r.hours) || hours[0] != r.hours[0] || hours[99] != r.hours[99] {
		t.Errorf("%d hours, sent %d", len(hours), len(r.hours))
	}
	if got := (&hourReport{at: 5}).split(bytesMax); len(got) != 1 {
		t.Errorf("%d messages without hours", len(got))
	}
}

// traffic returns what a node has learned.
func (f *fleet) traffic(i int) (t shard.Traffic) {
	err := f.members[i].run.Load().cluster.Read(1, func(r raftstore.Reader) error {
		t = shard.Queries{R: r}.Traffic(fleetMarket)
		return nil
	})
	if err != nil {
		f.t.Error(err)
	}
	return t
}

// The cluster learns the auctions of all nodes of every whole hour, also when its leader changes and a node starts again in
// it. An hour that began before the cluster, and one in which the leader died with what only it knew, are left out.
func TestHoursAreLearned(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates three hours of three nodes")
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Date(2026, 11, 23, 7, 50, 0, 0, time.UTC)
		f := newFleet(t, fleetConfig{params: pacing.Defaults(), budget: 1, begin: begin}, 32, 6, 2)
		defer f.stop()
		until := func(hour, minute int) {
			time.Sleep(time.Date(2026, 11, 23, hour, minute, 0, 0, time.UTC).Sub(f.now()))
		}
		learned := func(what string, hour int, want float64) {
			t.Helper()
			got := f.traffic(f.leader())
			h := got.Formats[model.Listing].Hours[hour]
			if want == 0 && h.Weeks != 0 || want > 0 && (float64(h.Rate)/256 < want*0.99 || float64(h.Rate)/256 > want*1.01) {
				t.Errorf("%s: %d auctions in %d weeks, want %.0f", what, h.Rate/256, h.Weeks, want)
			}
		}
		const perSecond = 40 * 100
		until(8, 20)
		led := f.leader()
		other := (led + 1) % 3
		store, _ := f.c.Store(led)
		if err := store.Transfer(t.Context(), 1, f.c.Nodes[other].ID); err != nil {
			t.Fatal(err)
		}
		until(9, 5)
		learned("the hour before the cluster was whole", 7, 0)
		learned("an hour with two leaders", 8, 3600*perSecond)

		until(9, 30)
		f.kill((f.leader() + 1) % 3)
		until(9, 31)
		for i := range f.members {
			if f.members[i].run.Load() == nil {
				perMinute := float64(f.members[i].load.Load() * 100 * 60)
				f.start(i)
				until(10, 5)
				learned("an hour in which a node started again", 9, 3600*perSecond-perMinute)
			}
		}
		until(10, 30)
		led = f.leader()
		f.kill(led)
		until(10, 40)
		f.start(led)
		until(11, 5)
		learned("an hour in which the leader died", 10, 0)
		if n := f.traffic(f.leader()).All.Seen; n > 2*3600*perSecond {
			t.Errorf("%d auctions seen", n)
		}
	})
}
