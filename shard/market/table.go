package market

import (
	"math/bits"
	"sync/atomic"
)

// table maps the keyed hash of a text to the ordinal of its row. It is insert-only and shared by every view that was
// published since it was built, so that adding a text costs no copy.
//
// A bucket has seven entries. Its tag word holds their 8-bit tags and, in its top byte, one overflow bit for each of
// eight classes of hashes: the bit says that an insertion of that class continued in the next bucket. Seven words of
// another array hold the 32-bit fingerprints and the ordinals. The tag words have an array of their own because a miss
// reads nothing else: they are an eighth of the table, so that most of what auctions look up stays in the CPU cache (2
// MB for a million texts).
//
// INVARIANT: an entry is never removed or moved, and the entries of a bucket fill in order. So the first entry of a
// chain with the tag and fingerprint of a hash is either the one inserted for that text or has the hashCollision bit.
// OWNERSHIP: there is one writer; readers may read at any time. The writer stores an entry before its tag. Readers
// ignore ordinals that their view does not have yet.
type table struct {
	TagFilter          // The tag words by bucket. mask is at most 2^24 - 1, so bucket, fingerprint and tag use different bits.
	entries   []uint64 // bucketStride words for each bucket, the last one unused.
	used      int
}

const (
	bucketSlots  = 7
	bucketStride = 8 // The entries of a bucket are one cache line.
	tagOnes      = 0x0001010101010101
	tagHighs     = 0x0080808080808080

	// hashCollision marks an entry that has the same bucket chain, tag and fingerprint as another one, so that a reader
	// must compare the texts.
	hashCollision = 1 << 31
	// hadBid marks a product that has had a bid. It is in the cache line that a look-up reads anyway, so that products
	// without a bid, which are most, do not cost the cache line of their row.
	hadBid      = 1 << 30
	ordinalMask = hadBid - 1 // BOUND: rows of one table.

	bucketsMin = 16
	bucketsMax = 1 << 24 // BOUND: 88 million texts; beyond, chains grow longer.
)

func newTable(buckets int) *table {
	return &table{
		TagFilter: TagFilter{tags: make([]uint64, buckets), mask: uint64(buckets - 1)},
		entries:   make([]uint64, buckets*bucketStride),
	}
}

// full reports whether the next insertion should go into a table of twice the size, because 3/4 of the entries are
// used.
func (t *table) full() bool {
	return t.used*4 >= len(t.tags)*bucketSlots*3 && len(t.tags) < bucketsMax
}

// tagOf returns the tag of a hash. It is never 0, which marks a free entry.
func tagOf(hash uint64) uint64 { return max(hash>>56, 1) }

func fingerprintOf(hash uint64) uint64 { return hash >> 24 & 0xffffffff }

// overflowOf returns the bit of a full bucket's tag word which says that a hash may be in the next bucket.
func overflowOf(hash uint64) uint64 { return 1 << overflowBit(hash) }

func overflowBit(hash uint64) uint64 { return (56 | hash>>61) & 63 }

// matches returns a word in which the top bit of byte i is set if tag i equals the tag. Rarely, the bit of a higher
// byte is set although its tag differs.
func matches(tags, tag uint64) uint64 {
	x := tags ^ tag*tagOnes
	return (x - tagOnes) & ^x & tagHighs
}

// TagFilter rules out nearly all hashes that a table does not contain, from its tag words alone. It is a value, so that
// a loop over many hashes keeps it in registers.
type TagFilter struct {
	tags []uint64
	mask uint64
}

// MayContain returns 1 for every hash that the table contains, and 0 for nearly all others. It reads one word and has
// no branch, so that the processor overlaps the cache misses of many calls.
func (s TagFilter) MayContain(hash uint64) int {
	tags := atomic.LoadUint64(&s.tags[hash&s.mask])
	match := (matches(tags, tagOf(hash)) + 1<<63 - 1) >> 63 // 1 if any tag matches, else 0.
	return int(match | tags>>overflowBit(hash)&1)           // 0 or 1.
}

// Words returns the words that MayContain reads: for a hash the word at index hash&mask. For the zero TagFilter it
// returns one word that is 0.
func (s TagFilter) Words() (first *uint64, mask uint64) {
	if len(s.tags) == 0 {
		return &noTags, 0
	}
	return &s.tags[0], s.mask
}

var noTags uint64

// Same reports whether both are filters of the same table.
func (s TagFilter) Same(t TagFilter) bool {
	return len(s.tags) == len(t.tags) && (len(s.tags) == 0 || &s.tags[0] == &t.tags[0])
}

// Prefetch prefetches the words that MayContain will read for n hashes. The first hash is at first, each further one
// stride bytes behind the last. A load instruction stays in the processor's queue until its data arrives, so only a
// limited number of loads overlap; a prefetch instruction completes at once.
// REQUIRES: all n hashes are in the allocation that first points into.
func (s TagFilter) Prefetch(first *uint64, stride uintptr, n int) {
	words, mask := s.Words()
	prefetch(words, mask, first, stride, uintptr(max(n, 0))) // Not negative.
}

// probe iterates over the entries that may belong to one hash.
type probe struct {
	hash   uint64
	bucket uint64
	left   uint64 // The matches of the bucket that next has not returned yet.
	tags   uint64
}

func (t *table) probe(hash uint64) probe {
	p := probe{hash: hash, bucket: hash & t.mask}
	t.loadBucket(&p)
	return p
}

// loadBucket reads the tags of the probe's current bucket.
func (t *table) loadBucket(p *probe) {
	p.tags = atomic.LoadUint64(&t.tags[p.bucket])
	p.left = matches(p.tags, tagOf(p.hash))
}

// next returns the next entry with the probe's tag and fingerprint: an ordinal with the bits hashCollision and hadBid.
func (t *table) next(p *probe) (entry uint32, ok bool) {
	for {
		for p.left != 0 {
			slot := uint64(bits.TrailingZeros64(p.left)) / 8 // 0 to 6.
			p.left &= p.left - 1
			word := atomic.LoadUint64(&t.entries[p.bucket*bucketStride+slot])
			if word>>32 == fingerprintOf(p.hash) {
				return uint32(word), true // The low half.
			}
		}
		if p.tags&overflowOf(p.hash) == 0 {
			return 0, false
		}
		p.bucket = (p.bucket + 1) & t.mask
		t.loadBucket(p)
	}
}

// insert adds an entry. REQUIRES: the table is not full and does not contain the text.
func (t *table) insert(hash uint64, entry uint32) {
	value := uint64(entry)
	if t.markCollisions(hash) {
		value |= hashCollision
	}
	for bucket := hash & t.mask; ; bucket = (bucket + 1) & t.mask {
		tags := t.tags[bucket]
		free := uint64(bits.TrailingZeros64(freeEntries(tags))) / 8 // 0 to 7.
		if free == bucketSlots {
			atomic.StoreUint64(&t.tags[bucket], tags|overflowOf(hash))
			continue
		}
		atomic.StoreUint64(&t.entries[bucket*bucketStride+free], fingerprintOf(hash)<<32|value)
		atomic.StoreUint64(&t.tags[bucket], tags|tagOf(hash)<<(8*free))
		t.used++
		return
	}
}

// growBlock is how many entries are inserted into a grown table together.
const growBlock = prefetchMax / 2

// grown returns a table of twice the size with n entries, of which at returns the hashes. Each goes to a place of its own in
// memory, for which the processor would wait twice; so the places of a block are prefetched before it is inserted.
func (t *table) grown(n uint32, at func(i uint32) (hash uint64, entry uint32)) *table {
	larger := newTable(2 * len(t.tags))
	var hashes [growBlock]uint64
	var entries [growBlock]uint32
	var ahead Prefetcher
	for begin := uint32(0); begin < n; begin += growBlock {
		block := min(growBlock, n-begin)
		for i := range block {
			hashes[i], entries[i] = at(begin + i)
			ahead.addTags(larger, hashes[i])
			ahead.addEntry(larger, hashes[i])
		}
		ahead.Flush()
		for i := range block {
			larger.insert(hashes[i], entries[i])
		}
	}
	return larger
}

// markHadBid sets the bit hadBid in the entry of an ordinal.
func (t *table) markHadBid(hash uint64, ordinal uint32) {
	for p := t.probe(hash); ; {
		entry, ok := t.next(&p)
		if !ok {
			return
		}
		if entry&ordinalMask == ordinal {
			at := p.bucket * bucketStride
			for slot := range uint64(bucketSlots) {
				if word := t.entries[at+slot]; uint32(word) == entry { // The low half.
					atomic.StoreUint64(&t.entries[at+slot], word|hadBid)
				}
			}
			return
		}
	}
}

// markCollisions sets the bit hashCollision in every entry that a probe for the hash returns, and reports whether there
// is any.
func (t *table) markCollisions(hash uint64) bool {
	found := false
	for bucket := hash & t.mask; ; bucket = (bucket + 1) & t.mask {
		tags := t.tags[bucket]
		for left := matches(tags, tagOf(hash)); left != 0; left &= left - 1 {
			slot := bucket*bucketStride + uint64(bits.TrailingZeros64(left))/8 // 0 to 6.
			if word := t.entries[slot]; word>>32 == fingerprintOf(hash) {
				atomic.StoreUint64(&t.entries[slot], word|hashCollision)
				found = true
			}
		}
		if tags&overflowOf(hash) == 0 {
			return found
		}
	}
}

// freeEntries returns a word whose lowest set bit is the top bit of the byte of the first free entry, or bit 63 if none
// is free.
func freeEntries(tags uint64) uint64 {
	return (tags-tagOnes)&^tags&tagHighs | 1<<63
}
