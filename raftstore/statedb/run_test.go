package statedb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Changes are in the order of their keys, and those of one key as they were made, whatever the first bytes have in common and
// wherever a key ends.
func TestSort(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	type made struct {
		key, value []byte // Without a value the key is deleted.
	}
	for range 200 {
		var r run
		var want []made
		for i := range 60 {
			key := bytes.Repeat([]byte{byte(random.IntN(2))}, 1+random.IntN(20))
			key[random.IntN(len(key))] ^= 1
			m := made{key: key}
			if random.IntN(4) > 0 {
				m.value = fmt.Append(nil, "value ", i)
			}
			r.add(m.key, m.value, m.value == nil)
			want = append(want, m)
		}
		slices.SortStableFunc(want, func(a, b made) int { return bytes.Compare(a.key, b.key) })
		r.sort()
		for i := range r.changes {
			c := &r.changes[i]
			if !bytes.Equal(r.key(c), want[i].key) || c.deleted() != (want[i].value == nil) || !c.deleted() && !bytes.Equal(r.value(c), want[i].value) {
				t.Fatalf("change %d is of %x, want %x with %q", i, r.key(c), want[i].key, want[i].value)
			}
		}
	}
}

// BenchmarkSort sorts the changes of 500 charged clicks. Of each click a group writes records of eight tables, whose keys
// differ early (a number of the day and of the user), late (a journal's line), or only behind the same campaign.
func BenchmarkSort(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2)) // The same keys in each run.
	var filled run
	for click := range 500 {
		for table := range byte(8) {
			filled.add(clickKey(random, table, uint64(click)), []byte("some sixteen bytes"), false)
		}
	}
	var r run
	b.ReportAllocs()
	for b.Loop() {
		r.changes = append(r.changes[:0], filled.changes...)
		r.bytes = filled.bytes
		r.sort()
	}
}

func clickKey(random *rand.Rand, table byte, click uint64) []byte {
	key := []byte{0x16 + table}
	switch table {
	case 0, 1: // The key of an event or charge in its hour: class, bucket, then a hash.
		key = append(key, table, 0, 7, 120, 3)
		return binary.BigEndian.AppendUint64(key, random.Uint64())
	case 2: // The line of a journal.
		return binary.BigEndian.AppendUint64(key, 1_000_000+click)
	case 3: // A campaign's identifier, whose first half is a time, then an hour and a bid.
		key = append(key, 1, 0x93, 7, 8, 9, 0, 0x7c)
		key = binary.BigEndian.AppendUint64(key, random.Uint64N(100)<<32)
		return binary.BigEndian.AppendUint64(key, random.Uint64N(20))
	case 4, 5, 6: // A marketplace and the text of a product's identifier.
		key = append(key, 0, 1, 0, 12)
		return append(append(key, "product-"...), byte('0'+random.IntN(10)), byte('0'+random.IntN(10)), byte('0'+random.IntN(10)))
	default: // A touch: day, marketplace, user, time.
		key = append(key, 0, 0, 80, 100, 0, 1)
		key = binary.BigEndian.AppendUint64(key, random.Uint64())
		return binary.BigEndian.AppendUint64(key, click)
	}
}
