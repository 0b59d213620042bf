package market

import (
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/shard/model"
)

// FrequencyQuery asks how often a user interacted with a campaign or bid in one period.
type FrequencyQuery struct {
	User        uint64 // Keyed hash of the user id.
	Group       uint16
	Campaign    uint32 // Ordinal in the group.
	Bid         uint32 // Ordinal in the group; 0: all bids of the campaign.
	Interaction model.CapInteraction
	Period      model.Period // Daily, Weekly or Monthly.
	LocalMillis int64        // The instant in the marketplace's time zone.
}

// Exposure is an impression or click of a user that counts for frequency caps, with the budget periods that were
// current in its group.
type Exposure struct {
	User             uint64 // Keyed hash of the user id.
	Bid              uint32 // Ordinal in the group; 0: not known.
	Interaction      model.CapInteraction
	Day, Week, Month uint32 // As command.Periods numbers them.
}

// exposureCounts counts exposures for frequency caps in a table of fixed size. The events that the node applies fill
// it, and auctions read it without a lock. A full bucket drops the count whose period ends first. So a count may be too
// low, for example after a restart of the node, and a cap then lets more ads through; a count is too high only when two
// keys have the same 64-bit hash.
//
// OWNERSHIP: a writer holds the market's lock. A writer that reuses an entry for another key clears the tag first and
// sets the new tag last, so that a reader which sees the same tag before and after reading the count has the count of
// that tag.
type exposureCounts struct {
	seed    uint64
	buckets [exposureBuckets][exposureWays]exposureCount
}

type exposureCount struct {
	tag   atomic.Uint64 // 0: free.
	count atomic.Uint64 // High half: the last day of its period. Low half: the count.
}

// BOUND: 16 MiB, for a million counts.
const (
	exposureBuckets = 1 << 18
	exposureWays    = 4
)

// RecordExposure counts an exposure for each frequency cap of the campaign that it applies to.
func (m *Market) RecordExposure(c *model.Campaign, x *Exposure) {
	m.mu.Lock()
	defer m.mu.Unlock()

	t := m.exposures.Load()
	if t == nil {
		t = &exposureCounts{seed: Mix(m.seed, 'm')}
		m.exposures.Store(t)
	}
	for _, limit := range c.Caps {
		if limit.Interaction() != x.Interaction || limit.OfBid() && x.Bid == 0 {
			continue
		}
		q := FrequencyQuery{User: x.User, Group: uint16(c.Group), Campaign: c.Ordinal, Interaction: x.Interaction, Period: limit.Period()}
		if limit.OfBid() {
			q.Bid = x.Bid
		}
		number, last := x.Day, x.Day
		switch q.Period {
		case model.Weekly:
			number, last = x.Week, x.Day+6
		case model.Monthly:
			number, last = x.Month, x.Day+30
		default:
		}
		t.add(t.key(&q, number), last)
	}
}

// Count returns how many exposures a user had in the period that contains the query's instant. It may be called at any
// time from any goroutine and allocates nothing.
func (m *Market) Count(q FrequencyQuery) uint32 {
	t := m.exposures.Load()
	if t == nil {
		return 0
	}
	return t.get(t.key(&q, periodNumber(q.Period, q.LocalMillis)))
}

func (t *exposureCounts) key(q *FrequencyQuery, number uint32) uint64 {
	h := Mix(t.seed, q.User)
	h = Mix(h, uint64(q.Group)<<32|uint64(q.Campaign))
	h = Mix(h, uint64(q.Bid)<<32|uint64(q.Interaction)<<8|uint64(q.Period))
	return max(Mix(h, uint64(number)), 1)
}

func (t *exposureCounts) get(key uint64) uint32 {
	bucket := &t.buckets[key%exposureBuckets]
	for i := range bucket {
		e := &bucket[i]
		if e.tag.Load() == key {
			if count := e.count.Load(); e.tag.Load() == key {
				return uint32(count) // The low half.
			}
		}
	}
	return 0
}

func (t *exposureCounts) add(key uint64, last uint32) {
	bucket := &t.buckets[key%exposureBuckets]
	oldest := &bucket[0]
	for i := range bucket {
		e := &bucket[i]
		if e.tag.Load() == key {
			if count := e.count.Load(); uint32(count) < 1<<32-1 { // The low half.
				e.count.Store(uint64(last)<<32 | uint64(uint32(count)+1)) // The low half.
			}
			return
		}
		if e.count.Load()>>32 < oldest.count.Load()>>32 {
			oldest = e
		}
	}
	oldest.tag.Store(0)
	oldest.count.Store(uint64(last)<<32 | 1)
	oldest.tag.Store(key)
}

// periodNumber returns the number of the period of a local instant, as command.Periods numbers it.
func periodNumber(p model.Period, localMillis int64) uint32 {
	day := uint32(max(localMillis, 0) / (24 * 3600 * 1000))
	switch p {
	case model.Weekly:
		return (day + 3) / 7
	case model.Monthly:
		return monthOf(day)
	default:
		return day
	}
}

// monthOf returns year*12 + month of a day since 1970-01-01.
func monthOf(day uint32) uint32 {
	year, month, _ := time.Unix(int64(day)*24*60*60, 0).UTC().Date()
	return uint32(year)*12 + uint32(month) // The year is at least 1970.
}
