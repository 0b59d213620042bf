package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// countedReader counts the reads of another reader.
type countedReader struct {
	shard.Reader
	gets, scans int
}

func (r *countedReader) Get(key []byte) ([]byte, bool) {
	r.gets++
	return r.Reader.Get(key)
}

func (r *countedReader) Scan(from, to []byte, fn func(key, value []byte) bool) {
	r.scans++
	r.Reader.Scan(from, to, fn)
}

// The links and touches of a user are read of the days that have any, and not of each day of 90: every purchase reads them.
func TestOnlyDaysWithRecordsAreRead(t *testing.T) {
	r := open(t, shardtest.NewKV())
	for _, c := range retentionCommands(benchNow) {
		r.Do(c)
	}
	read := func(now int64) (linked int, touches int, cost countedReader) {
		cost.Reader = r.KV
		b := shard.Queries{R: &cost}
		b.LinkedTo(1, 1, now, func(uint64) bool { linked++; return true })
		today := uint32(now / day)
		b.Touches(1, 1, today-attribution.WindowDaysMax+2, today, func(*shard.Touch) bool { touches++; return true })
		return linked, touches, cost
	}
	if linked, touches, cost := read(benchNow); linked+touches+cost.gets != 0 || cost.scans != 2 {
		t.Errorf("without records: %d links, %d touches, %+v", linked, touches, cost)
	}
	for _, now := range []int64{benchNow, benchNow + 40*day} {
		r.Do(command.AppendLinkUsers(nil, now, &command.LinkUsers{Marketplace: 1, From: uint64(now), To: 1}))
		r.Do(clickCommand(1, int(now/day), now, now))
		r.Do(clickCommand(1, int(now/day)+1, now, now))
		r.Do(clickCommand(1, int(now/day)+2, now, now))
	}
	if linked, touches, cost := read(benchNow + 41*day); linked != 2 || touches != 2 || cost.gets != 2 || cost.scans != 4 {
		t.Errorf("with records on two days: %d links, %d touches, %+v", linked, touches, cost)
	}
}
