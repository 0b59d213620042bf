package traffic

import (
	"math/rand/v2"
	"strconv"
)

// Auctions generates bodies of POST /v2/auctions over the products of one market. The popularity of products has the
// distribution Zipf(1.1), as page views of shops do, and the seed shuffles the order of popularity. It must not be used by
// several goroutines at the same time.
type Auctions struct {
	products []string
	r        *rand.Rand
	zipf     *rand.Zipf
	seen     map[int]struct{}
}

// NewAuctions returns a generator that uses one stream of the seed. REQUIRES: there is at least one product, and ids need no
// JSON escapes.
func NewAuctions(products []string, seed, stream uint64) *Auctions {
	r := New(seed, stream)
	shuffled := append([]string(nil), products...)
	New(seed, 0).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	return &Auctions{
		products: shuffled, r: r, seen: make(map[int]struct{}),
		zipf: rand.NewZipf(r, 1.1, 1, uint64(len(products)-1)),
	}
}

// Append appends one body of n listing auctions with ids different products each and the given number of slots. When the
// market has fewer products than ids, it uses them all.
func (a *Auctions) Append(dst []byte, n, ids, slots int) []byte {
	dst = append(dst, `{"auctions":[`...)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"listings","slots":`...)
		dst = strconv.AppendInt(dst, int64(slots), 10)
		dst = append(dst, `,"products":{"ids":[`...)
		dst = a.appendIDs(dst, ids)
		dst = append(dst, `]}}`...)
	}
	return append(dst, `]}`...)
}

// appendIDs appends different random products by popularity. Popular products are chosen repeatedly, so after a few misses it
// chooses uniformly, and after more it takes the next product that is free. BOUND: that bounds the misses per id.
func (a *Auctions) appendIDs(dst []byte, ids int) []byte {
	clear(a.seen)
	ids = min(ids, len(a.products))
	for i := range ids {
		p := int(a.zipf.Uint64())
		for misses := 0; ; misses++ {
			if _, taken := a.seen[p]; !taken {
				break
			}
			if misses < 2 {
				p = int(a.zipf.Uint64())
			} else {
				p = a.r.IntN(len(a.products))
			}
			if misses > 8 {
				p = a.free(p)
			}
		}
		a.seen[p] = struct{}{}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, a.products[p]...)
		dst = append(dst, '"')
	}
	return dst
}

// free returns the first product at or after p that is not taken, and continues at the start after the last one.
func (a *Auctions) free(p int) int {
	for {
		if _, taken := a.seen[p]; !taken {
			return p
		}
		p = (p + 1) % len(a.products)
	}
}
