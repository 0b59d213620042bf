package shard

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// repeats finds the first report of an event whose repeat has another time or token, as clients send it that stamp an
// event again when they retry. The dedup key of an event is in the bucket of its token's hour or its own hour, so the
// key alone does not say in which bucket to look.
//
// An event is nearly always reported within hours of its bucket. So a repeat within event.RepeatMillis is looked for in
// the buckets of these hours, at no additional record for each event. Only an event whose bucket is not near the hour
// of its report gets a second key, of classReceived, in the bucket of that hour.
//
// Looking into some 80 buckets would cost more than the event, so a filter for each day says in memory that a key is in
// none of them. Filters decide only whether the buckets are read, therefore replicas whose filters differ have equal
// results.
// INVARIANT: the filters contain all keys of classEvent and classReceived in the buckets from event.RepeatHorizons on.
type repeats struct {
	days map[uint32]*keyFilter // By bucket / 24.
}

func newRepeats() repeats { return repeats{days: make(map[uint32]*keyFilter)} }

// add adds a key of a bucket.
func (r *repeats) add(bucket uint32, key *[16]byte) {
	day := bucket / 24
	f := r.days[day]
	if f == nil {
		f = new(keyFilter)
		r.days[day] = f
	}
	f.insert(key)
}

// forget drops the filters of all days before a bucket's.
func (r *repeats) forget(bucket uint32) {
	for day := range r.days { // order: every old filter is dropped.
		if day < bucket/24 {
			delete(r.days, day)
		}
	}
}

// reportedAtAnotherTime reports whether the event's id was reported within event.RepeatMillis with another bucket.
func (m *Machine) reportedAtAnotherTime(r *command.EventRecord) bool {
	if m.state.level < command.LevelEventIDs {
		return false
	}
	events, reports := event.RepeatHorizons(m.state.now)
	last := event.BucketOf(m.state.now) + 1
	for day := events / 24; day <= last/24; day++ {
		f := m.repeats.days[day]
		if f == nil || !f.mayContain(&r.Key) {
			continue
		}
		for hour := max(events, day*24); hour <= min(last, day*24+23); hour++ {
			if hour != r.Bucket && m.isRemembered(bucketID{classEvent, hour}, &r.Key) ||
				hour >= reports && m.isRemembered(bucketID{classReceived, hour}, &r.Key) {
				return true
			}
		}
	}
	return false
}

// rememberReport makes a counted event known to reportedAtAnotherTime.
func (m *Machine) rememberReport(r *command.EventRecord) {
	if events, _ := event.RepeatHorizons(m.state.now); r.Bucket >= events {
		m.repeats.add(r.Bucket, &r.Key)
	}
	if event.IsNear(r.Bucket, m.state.now) || m.state.level < command.LevelEventIDs {
		return
	}
	hour := event.BucketOf(m.state.now)
	k := m.dedup.bucket(bucketID{classReceived, hour}, m.state.now)
	if m.claim(k, &r.Key) {
		m.remember(k, &r.Key, command.Counted, 0)
		m.repeats.add(hour, &r.Key)
	}
}
