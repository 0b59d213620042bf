package market

import "sync/atomic"

// FrequencyQuery is a question how often a user met a campaign.
type FrequencyQuery struct {
	User        uint64 // Keyed hash.
	Group       uint16
	Campaign    uint32 // Ordinal in the group.
	Bid         uint32 // Ordinal in the group; 0: all bids of the campaign.
	Interaction CapInteraction
	Period      Period // Daily, Weekly or Monthly.
	LocalMillis int64  // The instant in the marketplace's time zone.
}

// Meeting is an interaction of a user with a bid, in the budget periods that its group had reached.
type Meeting struct {
	User             uint64
	Bid              uint32 // 0: not known.
	Interaction      CapInteraction
	Day, Week, Month uint32 // As command.Periods numbers them.
}

// meetings counts what frequency caps ask for: a table of a fixed size, filled from the events that the node applies, and
// read by auctions without a lock. A full bucket forgets the count that ends first. So a count may be lower than what there
// was, after a restart of the node for instance, and a cap then lets some more through; it is never higher.
//
// OWNERSHIP: writers hold the market's lock. A writer that gives an entry to another key clears the tag first and sets it
// last, so a reader that saw the same tag before and after the count has the count of that tag.
type meetings struct {
	seed    uint64
	buckets [meetingBuckets][meetingWays]meeting
}

type meeting struct {
	tag   atomic.Uint64 // 0: free.
	count atomic.Uint64 // The last day that it counts for, and the count below it.
}

// BOUND: 16 MiB, a million counts.
const (
	meetingBuckets = 1 << 18
	meetingWays    = 4
)

// Met counts an interaction for the caps of a campaign that ask for it.
func (m *Market) Met(c *Campaign, x *Meeting) {
	m.mu.Lock()
	defer m.mu.Unlock()

	t := m.met.Load()
	if t == nil {
		t = &meetings{seed: Mix(m.seed, 'm')}
		m.met.Store(t)
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
		case Weekly:
			number, last = x.Week, x.Day+6
		case Monthly:
			number, last = x.Month, x.Day+30
		default:
		}
		t.add(t.key(&q, number), last)
	}
}

// Count returns how often a user met a campaign in the period of the query's instant. It is safe at any time from any
// goroutine, and allocates nothing.
func (m *Market) Count(q FrequencyQuery) uint32 {
	t := m.met.Load()
	if t == nil {
		return 0
	}
	return t.get(t.key(&q, periodNumber(q.Period, q.LocalMillis)))
}

func (t *meetings) key(q *FrequencyQuery, number uint32) uint64 {
	h := Mix(t.seed, q.User)
	h = Mix(h, uint64(q.Group)<<32|uint64(q.Campaign))
	h = Mix(h, uint64(q.Bid)<<32|uint64(q.Interaction)<<8|uint64(q.Period))
	return max(Mix(h, uint64(number)), 1)
}

func (t *meetings) get(key uint64) uint32 {
	bucket := &t.buckets[key%meetingBuckets]
	for i := range bucket {
		e := &bucket[i]
		if e.tag.Load() == key {
			if count := e.count.Load(); e.tag.Load() == key {
				return uint32(count) //nolint:gosec // the low half.
			}
		}
	}
	return 0
}

func (t *meetings) add(key uint64, last uint32) {
	bucket := &t.buckets[key%meetingBuckets]
	oldest := &bucket[0]
	for i := range bucket {
		e := &bucket[i]
		if e.tag.Load() == key {
			if count := e.count.Load(); uint32(count) < 1<<32-1 { //nolint:gosec // the low half.
				e.count.Store(uint64(last)<<32 | uint64(uint32(count)+1)) //nolint:gosec // the low half.
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

// periodNumber numbers the period of a local instant as command.Periods does.
func periodNumber(p Period, localMillis int64) uint32 {
	day := uint32(max(localMillis, 0) / (24 * 3600 * 1000)) //nolint:gosec // small.
	switch p {
	case Weekly:
		return (day + 3) / 7
	case Monthly:
		return monthOf(day)
	default:
		return day
	}
}

// monthOf returns year*12 + month of a day since 1970-01-01. It counts years from March, so that a leap day ends one.
func monthOf(day uint32) uint32 {
	day += 719_468 // Since 0000-03-01.
	era, inEra := day/146_097, day%146_097
	year := (inEra - inEra/1_460 + inEra/36_524 - inEra/146_096) / 365
	inYear := inEra - (365*year + year/4 - year/100)
	month := (5*inYear + 2) / 153 // 0 is March.
	return (era*400+year)*12 + month + 3
}
