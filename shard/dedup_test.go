package shard_test

import (
	"encoding/binary"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// countedAt is so many impressions of an hour, with ids from first on.
func countedAt(first, n int, at int64) []command.EventRecord {
	all := make([]command.EventRecord, n)
	for i := range all {
		all[i] = command.EventRecord{Kind: event.Impression, OccurredMillis: at, Bucket: event.BucketOf(at), Cell: event.BucketOf(at) * 4}
		binary.BigEndian.PutUint64(all[i].Key[8:], uint64(first+i)*0x9e3779b97f4a7c15)
	}
	return all
}

// New events of recent hours cost no look-ups in the state, however many are remembered: the filters show that they are new.
// After a restart, too. A repeat costs one.
func TestNewEventsReadNothing(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	do := func(events []command.EventRecord) (gets int) {
		r.KV.Gets = 0
		r.Do(command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: events}))
		return r.KV.Gets
	}
	const n = 1_000
	for i := range 40 {
		if gets := do(countedAt(i*n, n, benchNow-int64(i%3)*hour)); gets > n/50 {
			t.Errorf("%d look-ups for %d new events beside %d", gets, n, i*n)
		}
	}
	r = open(t, r.KV)
	if gets := do(countedAt(40*n, n, benchNow)); gets > n/50 {
		t.Errorf("%d look-ups for %d new events after a restart", gets, n)
	}
	if gets := do(countedAt(0, n, benchNow)); gets < n || gets > n+n/50 {
		t.Errorf("%d look-ups for %d repeats", gets, n)
	}
}

// Filters of earlier hours are dropped when there are too many bytes, and those of all hours that are over. The keys of a bucket
// without one are looked up, with the same results.
func TestFiltersAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ bytes, want, later int }{"bound": {1, 1, 0}, "no bound": {1 << 30, 3, 2}} {
		t.Run(name, func(t *testing.T) {
			r := open(t, shardtest.NewKV())
			r.Machine.LimitFilters(c.bytes)
			r.Do(setFeature(command.LevelNewest))
			for i := range 3 {
				at := int64(benchNow) + int64(i)*hour
				for _, x := range report(t, r, at, countedAt(i, 1, at)...) {
					expect(t, "a new event", x.Outcome, command.Counted)
				}
			}
			n, bytes := r.Machine.Filters()
			expect(t, "filters", n, c.want)
			expect(t, "bytes", bytes, c.want<<16)
			at := int64(benchNow) + 2*hour
			for i := range 3 {
				for _, x := range report(t, r, at, countedAt(i, 1, benchNow+int64(i)*hour)...) {
					expect(t, "a repeat", x.Outcome, command.Duplicate)
				}
			}
			report(t, r, at+hour)
			n, _ = r.Machine.Filters()
			expect(t, "filters an hour later", n, c.later)
		})
	}
}
