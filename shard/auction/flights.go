package auction

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
)

// This file assigns the bids of flight auctions. The competing entity is a pair of product and variation, and a bid on
// the product wins at most one of the product's pairs. So the bids of a product are assigned to its pairs: the best bid
// to the pair of the best quality, the next bid to the next pair, and so on. Bids beyond the last pair compete for the
// last pair, where they always lose.

// pair adds a pair of a flight auction, unless an earlier position of the request has added it. The first pair of a
// product is the head of the list of its pairs and always has the best quality. Variations are compared by their keyed
// 64-bit hashes.
func (s *Scratch) pair(row, index, quality uint32) {
	r := s.v.ProductRow(row)
	h := hit{row: row, index: index, quality: uint64(quality) * uint64(r.Quality), best: none, other: none, next: lastPair}
	if !s.isProduct(&h) {
		return
	}
	if _, added := s.pairSeen.add(market.Mix(uint64(row), s.a.Variations[index].Hash), 0); !added {
		return
	}
	head, first := s.hitByRow.add(uint64(row), uint32(len(s.hits))) // Fewer hits than 2^32.
	s.hits = append(s.hits, h)
	if first {
		return
	}
	added := &s.hits[len(s.hits)-1]
	added.secondaryPair = true
	if best := &s.hits[head]; added.quality > best.quality {
		added.quality, best.quality = best.quality, added.quality
		added.index, best.index = best.index, added.index
	}
	added.next, s.hits[head].next = s.hits[head].next, uint32(len(s.hits)-1) // As above.
}

// lastPair marks the end of a list of pairs.
const lastPair = ^uint32(0)

// assignPairs assigns the bids of every product to its pairs. REQUIRES: the candidates of a product are consecutive.
func (s *Scratch) assignPairs() {
	from := 0
	for from < len(s.candidates) {
		head := s.candidates[from].hit
		to := from + 1
		for to < len(s.candidates) && s.candidates[to].hit == head {
			to++
		}
		if s.hits[head].next != lastPair {
			s.assignProductPairs(head, s.candidates[from:to])
		}
		from = to
	}
}

func (s *Scratch) assignProductPairs(head uint32, bids []candidate) {
	s.sortPairs(head)
	for i := range bids {
		s.setScore(&bids[i])
	}
	slices.SortFunc(bids, func(a, b candidate) int { return order(a.beats(&b)) })
	s.hits[head].eligible = 0
	for i := range bids {
		bids[i].hit = s.pairs[min(i, len(s.pairs)-1)]
		s.hits[bids[i].hit].eligible++
	}
}

// sortPairs sets pairs to those of a product that may win, the best one first.
func (s *Scratch) sortPairs(head uint32) {
	s.pairs = s.pairs[:0]
	for at := head; at != lastPair; at = s.hits[at].next {
		if s.hits[at].quality > 0 {
			s.pairs = append(s.pairs, at)
		}
	}
	slices.SortFunc(s.pairs, func(a, b uint32) int {
		x, y := &s.hits[a], &s.hits[b]
		if x.quality != y.quality {
			return order(x.quality > y.quality)
		}
		return order(x.index < y.index)
	})
}

// order converts "a sorts before b" to the result of a comparison function for two different elements.
func order(before bool) int {
	if before {
		return -1
	}
	return 1
}
