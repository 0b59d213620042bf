package shard

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

const (
	hotHours = 2 // The buckets of the state clock's hour and of this many hours before it have filters.
	// hotBytesMax bounds the filters of a group. BOUND: they have at most this and one layer more, or what those of the current
	// hour need, 213 MiB for each class. Beyond it the buckets of the oldest hours lose theirs, and a look-up in them reads the
	// durable state, which is slower and gives the same answers.
	hotBytesMax = 256 << 20
)

// bucketID names the dedup keys of one class and hour.
type bucketID struct {
	class class
	hour  uint32
}

func compareBuckets(a, b bucketID) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.hour, b.hour))
}

func compareHours(a, b bucketID) int {
	return cmp.Or(cmp.Compare(a.hour, b.hour), cmp.Compare(a.class, b.class))
}

// dedup remembers which events were seen and which tokens were charged. Keys are durable records. The buckets of recent
// hours have filters in memory, because nearly every event is of these hours and new, and a look-up in the durable state costs
// microseconds, and more of them the more it holds. A bucket is dropped as a whole.
//
// INVARIANT: bucket.filter, when not nil, contains all keys of the bucket, so that a miss in it is final.
//
// Rejected: the keys themselves in memory, in a Go map. It answers for repeats, too, but takes 38 bytes a key instead of 2 to
// 4, so that a shop of 400 charged events a second did not fit any more (bench/results/2026-11-29-history.md).
type dedup struct {
	buckets map[bucketID]*bucket
	fresh   map[dedupKey]struct{} // Keys that were written and not committed.
	dirty   []*bucket
	hot     int // Bytes of filters.
	// purgedHour is the hour of the last purge, so that the scan for old buckets runs once an hour. It is not part of the
	// state, because a purge that is repeated finds nothing and changes nothing.
	purgedHour  uint32
	evictedHour uint32 // The hour in which evict last looked for old buckets.
	kept        int    // What hot was after that.
}

type dedupKey struct {
	bucketID
	key [16]byte
}

type bucket struct {
	id     bucketID
	count  uint64
	xor    uint64 // Xor of the hashes of its keys' records.
	hash   uint64 // Hash of the stored bucket record; 0 when there is none.
	dirty  bool
	purged bool       // This batch has dropped it.
	filter *keyFilter // Nil: every key is looked up in the durable state.
}

func newDedup() dedup {
	return dedup{buckets: make(map[bucketID]*bucket), fresh: make(map[dedupKey]struct{})}
}

// bucket returns a bucket and creates it on first use. A new bucket has a filter when it is recent.
func (d *dedup) bucket(id bucketID, now int64) *bucket {
	k := d.buckets[id]
	if k == nil {
		k = &bucket{id: id}
		d.buckets[id] = k
		if isHot(id.hour, now) {
			k.filter = new(keyFilter)
		}
	}
	return k
}

func isHot(hour uint32, now int64) bool { return hour+hotHours >= event.BucketOf(now) }

// claim inserts a key for the current event and reports whether it was new. REQUIRES: the caller calls remember for a
// key that was new. Look-up and insertion are one step, because with millions of keys most of the cost is waiting for
// memory, and each charged event needs two keys.
func (m *Machine) claim(k *bucket, key *[16]byte) bool {
	if !m.dedup.insert(k, key) && k.count > 0 && m.isStored(k, key) {
		return false
	}
	m.dedup.fresh[dedupKey{k.id, *key}] = struct{}{}
	return true
}

// insert adds a key to a bucket's filter and reports whether the filter shows that it is new.
func (d *dedup) insert(k *bucket, key *[16]byte) bool {
	if k.filter == nil {
		return false
	}
	before := k.filter.bytes
	absent := k.filter.insert(key)
	d.hot += k.filter.bytes - before
	return absent
}

// isRemembered reports whether a bucket contains a key.
func (m *Machine) isRemembered(id bucketID, key *[16]byte) bool {
	k := m.dedup.buckets[id]
	if k == nil || k.count == 0 || k.filter != nil && !k.filter.mayContain(key) {
		return false
	}
	return m.isStored(k, key)
}

// isStored reports whether the durable state, or what was written since, has a key of a bucket.
func (m *Machine) isStored(k *bucket, key *[16]byte) bool {
	if _, found := m.dedup.fresh[dedupKey{k.id, *key}]; found {
		return true
	}
	m.key = append(keyDedup(m.key[:0], k.id), key[:]...)
	_, found := m.b.Get(m.key)
	return found
}

// remember stores a key with its outcome and the amount charged. REQUIRES: claim returned true for the key.
func (m *Machine) remember(k *bucket, key *[16]byte, outcome command.Outcome, charged uint64) {
	m.key = append(keyDedup(m.key[:0], k.id), key[:]...)
	m.value = binary.AppendUvarint(append(m.value[:0], byte(outcome)), charged)
	m.addKey(k)
}

// addKey writes m.value under m.key, a new key of a bucket.
func (m *Machine) addKey(k *bucket) {
	k.xor ^= m.add(m.key, m.value)
	k.count++
	if !k.dirty {
		k.dirty = true
		m.dedup.dirty = append(m.dedup.dirty, k)
	}
}

// purge drops the buckets whose events and charges the state clock refuses from now on.
func (m *Machine) purge() {
	hour := event.BucketOf(m.state.now)
	if hour == m.dedup.purgedHour {
		return
	}
	m.dedup.purgedHour = hour
	horizons := [classes]uint32{
		classEvent:      event.CountHorizon(m.state.now),
		classClick:      event.ChargeHorizon(event.Click, m.state.now),
		classImpression: event.ChargeHorizon(event.Impression, m.state.now),
		classPurchase:   event.ChargeHorizon(event.Purchase, m.state.now),
	}
	events, reports := event.RepeatHorizons(m.state.now)
	horizons[classReceived] = reports
	m.repeats.forget(events)
	for _, id := range slices.SortedFunc(maps.Keys(m.dedup.buckets), compareBuckets) {
		if id.hour < horizons[id.class] {
			m.dropBucket(m.dedup.buckets[id])
		}
	}
	m.purgeAdjusts()
	m.purgeStaged(hour)
	m.purgeUnknown()
	m.purgeDays()
}

// dropBucket deletes a bucket and all its keys.
func (m *Machine) dropBucket(k *bucket) {
	m.digest ^= k.xor ^ k.hash
	m.written = true
	from := keyDedup(nil, k.id)
	m.b.DeleteRange(from, prefixEnd(from))
	m.b.Delete(keyBucket(nil, k.id))
	k.purged = true // The dirty list may still contain it.
	delete(m.dedup.buckets, k.id)
	m.dedup.forget(k)
}

// forget drops a bucket's filter.
func (d *dedup) forget(k *bucket) {
	if k.filter != nil {
		d.hot -= k.filter.bytes
		k.filter = nil
	}
}

func (m *Machine) flushBuckets() {
	for _, k := range m.dedup.dirty {
		k.dirty = false
		if k.purged {
			continue
		}
		m.key = keyBucket(m.key[:0], k.id)
		m.value = binary.LittleEndian.AppendUint64(m.value[:0], k.count)
		m.value = binary.LittleEndian.AppendUint64(m.value, k.xor)
		k.hash = m.replace(m.key, m.value, k.hash)
	}
	m.dedup.dirty = m.dedup.dirty[:0]
}

// evict drops filters after a commit: those of buckets that are no longer recent, and those of the oldest hours when they have
// more than bytesMax. That of the current hour stays, because nearly every event is of it.
func (d *dedup) evict(now int64, bytesMax int) {
	d.fresh = cleared(d.fresh)
	hour := event.BucketOf(now)
	if hour == d.evictedHour && d.hot <= max(bytesMax, d.kept) {
		return
	}
	d.evictedHour = hour
	for _, id := range slices.SortedFunc(maps.Keys(d.buckets), compareHours) {
		k := d.buckets[id]
		if !isHot(id.hour, now) || d.hot > bytesMax && id.hour < hour {
			d.forget(k)
		}
	}
	d.kept = d.hot
}
