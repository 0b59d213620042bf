package market

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// find returns the ordinals that a probe returns, and whether one has the bit hashCollision.
func (t *table) find(hash uint64) (found []uint32, collision bool) {
	for p := t.probe(hash); ; {
		entry, ok := t.next(&p)
		if !ok {
			return found, collision
		}
		found = append(found, entry&ordinalMask)
		collision = collision || entry&hashCollision != 0
	}
}

// Every inserted entry is found, by its full hash alone unless another one is indistinguishable, and MayContain accepts
// it; the same holds for a table that has grown, whatever number of entries was there.
func TestTableFinds(t *testing.T) {
	for _, bits := range []uint64{0, 3, 1<<24 | 7, 0xff000000000000ff, ^uint64(0)} { // The bits in which the hashes differ.
		r := rand.New(rand.NewPCG(1, bits))
		table := newTable(bucketsMin)
		var hashes []uint64
		for i := range uint32(bucketsMin * bucketSlots * 3 / 4) {
			if table.full() {
				t.Fatalf("full with %d of %d", i, bucketsMin*bucketSlots)
			}
			hashes = append(hashes, r.Uint64()&bits)
			table.insert(hashes[i], i)
		}
		if !table.full() {
			t.Error("not full")
		}
		checkFinds(t, table, hashes)
		for _, n := range []int{0, 1, growBlock - 1, growBlock, growBlock + 1, len(hashes)} {
			grown := table.grown(uint32(n), func(i uint32) (uint64, uint32) { return hashes[i], i })
			if grown.used != n || len(grown.tags) != 2*bucketsMin {
				t.Errorf("%d entries in %d buckets, want %d in %d", grown.used, len(grown.tags), n, 2*bucketsMin)
			}
			checkFinds(t, grown, hashes[:n])
		}
	}
}

// checkFinds fails unless a table has the entry i for each hash i.
func checkFinds(t *testing.T, table *table, hashes []uint64) {
	t.Helper()
	for i, hash := range hashes {
		found, collision := table.find(hash)
		if !slices.Contains(found, uint32(i)) {
			t.Fatalf("%d of %d, %#x, is lost", i, len(hashes), hash)
		}
		if table.MayContain(hash) != 1 {
			t.Fatalf("%d of %d, %#x, is ruled out", i, len(hashes), hash)
		}
		if found[0] != uint32(i) && !collision {
			t.Fatalf("%d of %d, %#x, is hidden by %d without a mark", i, len(hashes), hash, found[0])
		}
	}
}

// Nearly all hashes that were not inserted are ruled out by their tags.
func TestTableRulesOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	table := newTable(1024)
	for i := range uint32(5000) {
		table.insert(r.Uint64(), i)
	}
	passed := 0
	for range 100_000 {
		hash := r.Uint64()
		passed += table.MayContain(hash)
		if found, _ := table.find(hash); found != nil {
			t.Fatalf("%#x found", hash)
		}
	}
	if passed > 8_000 {
		t.Errorf("%d of 100,000 foreign hashes pass", passed)
	}
}

func TestTableMarksProductsWithBids(t *testing.T) {
	table := newTable(bucketsMin)
	for i := range uint32(20) {
		table.insert(42, i)
	}
	table.markHadBid(42, 13)
	for p := table.probe(42); ; {
		entry, ok := table.next(&p)
		if !ok {
			break
		}
		if got := entry&hadBid != 0; got != (entry&ordinalMask == 13) {
			t.Errorf("entry %d has had a bid: %v", entry&ordinalMask, got)
		}
	}
}

// A prefetch has no observable result. It must not read beyond the last hash, and must change nothing.
func TestPrefetchChangesNothing(t *testing.T) {
	table := newTable(bucketsMin)
	hashes := make([]uint64, 64)
	for i := range hashes {
		hashes[i] = Mix(1, uint64(i)) | uint64(i)<<60
		table.insert(hashes[i], uint32(i))
	}
	before, sent := slices.Clone(table.tags), slices.Clone(hashes)
	for n := range len(hashes) + 1 {
		table.Prefetch(&hashes[len(hashes)-max(n, 1)], 8, n)
		table.Prefetch(&hashes[0], 16, n/2)
	}
	if !slices.Equal(table.tags, before) || !slices.Equal(hashes, sent) {
		t.Error("a prefetch wrote")
	}
}
