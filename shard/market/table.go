package market

import (
	"math/bits"
	"sync/atomic"
)

// table maps the keyed hash of a text to the ordinal of its row. It is insert-only and shared by every view that was
// published since it was built, so that adding a text costs no copy.
//
// A bucket has seven slots. Its tag word holds their 8-bit tags and, in its top byte, which insertions went on to the next
// bucket: one bit for each of eight classes of hashes. Seven words of another array hold the 32-bit fingerprints and the
// ordinals. The tag words stand by themselves, because a miss needs nothing else: they are an eighth of the table, so that
// most of what an auction asks for stays in the cache (2 MB for a million texts).
//
// INVARIANT: an entry is never removed or moved, and the slots of a bucket fill in order; so the first entry of a chain
// that equals a hash in tag and fingerprint is either the one inserted for that text or carries the twin bit.
// OWNERSHIP: one writer; readers at any time. An entry's word is stored before its tag. Readers ignore ordinals that
// their view does not have yet.
type table struct {
	Sieve            // The tag words by bucket. mask is at most 2^24 - 1: bucket, fingerprint and tag use different bits.
	entries []uint64 // bucketStride for each bucket, the last one unused.
	used    int
}

const (
	bucketSlots  = 7
	bucketStride = 8 // So that the entries of a bucket are one cache line.
	tagOnes      = 0x0001010101010101
	tagHighs     = 0x0080808080808080

	// twin marks an entry that shares bucket chain, tag and fingerprint with another: a reader compares texts at once.
	twin = 1 << 31
	// offered marks a product that has had a bid. It stands in the line that a look-up reads anyway, so that the many
	// products without a bid never cost the line of their row.
	offered     = 1 << 30
	ordinalMask = offered - 1 // BOUND: rows of one table.

	bucketsMin = 16
	bucketsMax = 1 << 24 // BOUND: 88 million texts; beyond, chains grow longer.
)

func newTable(buckets int) *table {
	return &table{
		Sieve:   Sieve{tags: make([]uint64, buckets), mask: uint64(buckets - 1)}, //nolint:gosec // positive.
		entries: make([]uint64, buckets*bucketStride),
	}
}

// full reports whether the next insertion should go into a table of twice the size: at most 3/4 of the slots are used.
func (t *table) full() bool {
	return t.used*4 >= len(t.tags)*bucketSlots*3 && len(t.tags) < bucketsMax
}

// tagOf is never 0, which stands for an empty slot.
func tagOf(hash uint64) uint64 { return max(hash>>56, 1) }

func fingerprintOf(hash uint64) uint64 { return hash >> 24 & 0xffffffff }

// overflowOf is the bit of a full bucket's tag word that sends a hash on to the next bucket.
func overflowOf(hash uint64) uint64 { return 1 << overflowBit(hash) }

func overflowBit(hash uint64) uint64 { return (56 | hash>>61) & 63 }

// matches returns a word whose top bit of byte i is set if tag i may equal the tag; rarely a higher one too.
func matches(tags, tag uint64) uint64 {
	x := tags ^ tag*tagOnes
	return (x - tagOnes) & ^x & tagHighs
}

// Sieve tells hashes that a table does not hold from those that it may hold. It is a value, so that a loop over many
// hashes keeps it in registers.
type Sieve struct {
	tags []uint64
	mask uint64
}

// Passes returns 0 for nearly all hashes that the table does not hold, else 1. It reads one word and has no branch, so that
// the processor overlaps the cache misses of many calls.
func (s Sieve) Passes(hash uint64) int {
	tags := atomic.LoadUint64(&s.tags[hash&s.mask])
	match := (matches(tags, tagOf(hash)) + 1<<63 - 1) >> 63 // 1 unless nothing matches.
	return int(match | tags>>overflowBit(hash)&1)           //nolint:gosec // 0 or 1.
}

// Words returns the words that Passes reads: of a hash the one at hash&mask. For the zero Sieve it is one word that says nothing.
func (s Sieve) Words() (first *uint64, mask uint64) {
	if len(s.tags) == 0 {
		return &noTags, 0
	}
	return &s.tags[0], s.mask
}

var noTags uint64

// Is reports whether both are the sieve of the same table.
func (s Sieve) Is(t Sieve) bool {
	return len(s.tags) == len(t.tags) && (len(s.tags) == 0 || &s.tags[0] == &t.tags[0])
}

// Prefetch asks for the words that Passes will read of n hashes, the first of which is pointed to and each further one stride
// bytes behind the last. A load that nobody uses yet would still hold up what follows it, so that only some are on their
// way at once; a prefetch is done with when it is asked for.
// REQUIRES: all n hashes lie in memory that first keeps alive.
func (s Sieve) Prefetch(first *uint64, stride uintptr, n int) {
	words, mask := s.Words()
	prefetch(words, mask, first, stride, uintptr(max(n, 0))) //nolint:gosec // not negative.
}

// probe walks the entries that may be of one hash.
type probe struct {
	hash   uint64
	bucket uint64
	left   uint64 // Matches of the bucket that were not yielded.
	tags   uint64
}

func (t *table) probe(hash uint64) probe {
	p := probe{hash: hash, bucket: hash & t.mask}
	t.open(&p)
	return p
}

func (t *table) open(p *probe) {
	p.tags = atomic.LoadUint64(&t.tags[p.bucket])
	p.left = matches(p.tags, tagOf(p.hash))
}

// next yields the next entry with the probe's tag and fingerprint: an ordinal with its marks.
func (t *table) next(p *probe) (entry uint32, ok bool) {
	for {
		for p.left != 0 {
			slot := uint64(bits.TrailingZeros64(p.left)) / 8 //nolint:gosec // 0 to 6.
			p.left &= p.left - 1
			word := atomic.LoadUint64(&t.entries[p.bucket*bucketStride+slot])
			if word>>32 == fingerprintOf(p.hash) {
				return uint32(word), true //nolint:gosec // the low half.
			}
		}
		if p.tags&overflowOf(p.hash) == 0 {
			return 0, false
		}
		p.bucket = (p.bucket + 1) & t.mask
		t.open(p)
	}
}

// insert adds an entry. REQUIRES: the table is not full and does not hold the text.
func (t *table) insert(hash uint64, entry uint32) {
	value := uint64(entry)
	if t.markTwins(hash) {
		value |= twin
	}
	for bucket := hash & t.mask; ; bucket = (bucket + 1) & t.mask {
		tags := t.tags[bucket]
		free := uint64(bits.TrailingZeros64(freeSlots(tags))) / 8 //nolint:gosec // 0 to 7.
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

// offer gives the entry of an ordinal the offered mark.
func (t *table) offer(hash uint64, ordinal uint32) {
	for p := t.probe(hash); ; {
		entry, ok := t.next(&p)
		if !ok {
			return
		}
		if entry&ordinalMask == ordinal {
			at := p.bucket * bucketStride
			for slot := range uint64(bucketSlots) {
				if word := t.entries[at+slot]; uint32(word) == entry { //nolint:gosec // the low half.
					atomic.StoreUint64(&t.entries[at+slot], word|offered)
				}
			}
			return
		}
	}
}

// markTwins gives every entry that a probe for the hash meets the twin bit and reports whether there is one.
func (t *table) markTwins(hash uint64) bool {
	found := false
	for bucket := hash & t.mask; ; bucket = (bucket + 1) & t.mask {
		tags := t.tags[bucket]
		for left := matches(tags, tagOf(hash)); left != 0; left &= left - 1 {
			slot := bucket*bucketStride + uint64(bits.TrailingZeros64(left))/8 //nolint:gosec // 0 to 6.
			if word := t.entries[slot]; word>>32 == fingerprintOf(hash) {
				atomic.StoreUint64(&t.entries[slot], word|twin)
				found = true
			}
		}
		if tags&overflowOf(hash) == 0 {
			return found
		}
	}
}

// freeSlots has the top bit of the byte of the first empty slot as its lowest bit set, or bit 63 if none is empty.
func freeSlots(tags uint64) uint64 {
	return (tags-tagOnes)&^tags&tagHighs | 1<<63
}
