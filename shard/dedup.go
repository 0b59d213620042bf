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
	hotHours = 2 // Buckets this many hours before the clock's are kept in memory, beside the clock's own.
	// hotKeysMax bounds the keys in memory to about 320 MB per group (38 bytes a key in a Go map): beyond it the oldest
	// buckets are looked up in the durable state, which is slower and decides the same.
	hotKeysMax = 8 << 20
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

// dedup remembers which events were seen and which tokens were charged. Keys are durable records; the keys of recent
// hours are also held in memory, because nearly every event is of those and a look-up in the durable state costs
// microseconds. Buckets are dropped whole.
//
// INVARIANT: keys of a bucket, when not nil, holds all its keys, so that a miss in it is final.
//
// An open table of our own instead of Go's map was built and measured: 0.22 against 0.27 µs of CPU per key at 3 million
// keys. Most of both is the wait for memory, so the table was dropped again.
type dedup struct {
	buckets map[bucketID]*bucket
	fresh   map[dedupKey]struct{} // Keys of cold buckets that the batch wrote.
	dirty   []*bucket
	hot     int // Keys in memory.
	// purged is the hour of the last purge: the scan for old buckets runs once an hour. It is not state: purging again
	// what is gone changes nothing.
	purged uint32
	cooled uint32 // The hour of the last settle that looked for buckets to forget.
}

type dedupKey struct {
	bucketID
	key [16]byte
}

type bucket struct {
	id    bucketID
	count uint64
	xor   uint64 // Of the hashes of its keys' records.
	hash  uint64 // Of the stored summary; 0 before the first.
	dirty bool
	gone  bool                  // Purged by this batch.
	keys  map[[16]byte]struct{} // Nil: look them up in the durable state.
}

func newDedup() dedup {
	return dedup{buckets: make(map[bucketID]*bucket), fresh: make(map[dedupKey]struct{})}
}

// bucket returns a bucket, made when it is not there. A new bucket holds its keys in memory when it is recent.
func (d *dedup) bucket(id bucketID, now int64) *bucket {
	k := d.buckets[id]
	if k == nil {
		k = &bucket{id: id}
		d.buckets[id] = k
		if isHot(id.hour, now) {
			k.keys = make(map[[16]byte]struct{})
		}
	}
	return k
}

func isHot(hour uint32, now int64) bool { return hour+hotHours >= event.BucketOf(now) }

// claim takes a key for the event under way and reports whether it was free. A claimed key must be remembered. Looking up
// and inserting is one step, because at millions of keys a look-up is mostly a wait for memory, and the charge of one
// event needs two.
func (m *Machine) claim(k *bucket, key *[16]byte) bool {
	if k.keys != nil {
		before := len(k.keys)
		k.keys[*key] = struct{}{}
		return len(k.keys) > before
	}
	if k.count > 0 {
		if _, found := m.dedup.fresh[dedupKey{k.id, *key}]; found {
			return false
		}
		m.key = append(keyDedup(m.key[:0], k.id), key[:]...)
		if _, found := m.b.Get(m.key); found {
			return false
		}
	}
	m.dedup.fresh[dedupKey{k.id, *key}] = struct{}{}
	return true
}

// remember writes a key with what became of it: the outcome and the amount charged. REQUIRES: the key was claimed.
func (m *Machine) remember(k *bucket, key *[16]byte, outcome command.Outcome, charged uint64) {
	m.key = append(keyDedup(m.key[:0], k.id), key[:]...)
	m.value = binary.AppendUvarint(append(m.value[:0], byte(outcome)), charged)
	k.xor ^= m.add(m.key, m.value)
	k.count++
	if k.keys != nil {
		m.dedup.hot++
	}
	if !k.dirty {
		k.dirty = true
		m.dedup.dirty = append(m.dedup.dirty, k)
	}
}

// purge drops the buckets whose events and charges the state clock refuses from now on.
func (m *Machine) purge() {
	hour := event.BucketOf(m.state.now)
	if hour == m.dedup.purged {
		return
	}
	m.dedup.purged = hour
	horizons := [...]uint32{
		classEvent:      event.CountHorizon(m.state.now),
		classClick:      event.ChargeHorizon(event.Click, m.state.now),
		classImpression: event.ChargeHorizon(event.Impression, m.state.now),
	}
	for _, id := range slices.SortedFunc(maps.Keys(m.dedup.buckets), compareBuckets) {
		if id.hour < horizons[id.class] {
			m.drop(m.dedup.buckets[id])
		}
	}
	m.purgeAdjusts()
	m.purgeStaged(hour)
	m.purgeUnknown()
}

func (m *Machine) drop(k *bucket) {
	m.digest ^= k.xor ^ k.hash
	m.written = true
	from := keyDedup(nil, k.id)
	m.b.DeleteRange(from, after(from))
	m.b.Delete(keyBucket(nil, k.id))
	k.gone = true // It may stand in the dirty list.
	delete(m.dedup.buckets, k.id)
	m.dedup.hot -= len(k.keys)
}

func (m *Machine) flushBuckets() {
	for _, k := range m.dedup.dirty {
		k.dirty = false
		if k.gone {
			continue
		}
		m.key = keyBucket(m.key[:0], k.id)
		m.value = binary.LittleEndian.AppendUint64(m.value[:0], k.count)
		m.value = binary.LittleEndian.AppendUint64(m.value, k.xor)
		k.hash = m.replace(m.key, m.value, k.hash)
	}
	m.dedup.dirty = m.dedup.dirty[:0]
}

// settle forgets, after a commit, the keys that are better looked up: those of buckets no longer recent, and the oldest
// ones when there are too many.
func (d *dedup) settle(now int64) {
	d.fresh = emptied(d.fresh)
	hour := event.BucketOf(now)
	if hour == d.cooled && d.hot <= hotKeysMax {
		return
	}
	d.cooled = hour
	for _, id := range slices.SortedFunc(maps.Keys(d.buckets), compareHours) {
		k := d.buckets[id]
		if k.keys != nil && (!isHot(id.hour, now) || d.hot > hotKeysMax) {
			d.hot -= len(k.keys)
			k.keys = nil
		}
	}
}
