package main

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// market is a marketplace and its share of the traffic.
type market struct {
	ordinal uint16  // From 1, the same in whatever cell it is.
	weight  float64 // Share of all events; the weights of all markets sum to 1.
}

// markets returns n marketplaces whose traffic follows Zipf's law: the k-th largest has 1/k^exponent of the largest. Which ordinal
// is large is random.
func markets(n int, exponent float64, random *rand.Rand) []market {
	all, sum := make([]market, n), 0.0
	for i, rank := range random.Perm(n) {
		all[i] = market{ordinal: uint16(i + 1), weight: math.Pow(float64(rank+1), -exponent)}
		sum += all[i].weight
	}
	for i := range all {
		all[i].weight /= sum
	}
	return all
}

// placement is the cell of each market, by its position.
type placement []int

// byHash places each market by a hash of its ordinal, as a rule without a list would.
func byHash(all []market, cells int) placement {
	p := make(placement, len(all))
	for i := range all {
		h := fnv.New32a()
		_, _ = h.Write([]byte{byte(all[i].ordinal >> 8), byte(all[i].ordinal)}) // It has no error.
		p[i] = int(h.Sum32() % uint32(cells))
	}
	return p
}

// byLoad places the largest market first, each into the cell with the least traffic so far (Graham 1969: the fullest cell has
// at most 4/3 of what the best placement has, or the largest market).
func byLoad(all []market, cells int) placement {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[b].weight, all[a].weight) })
	p, load := make(placement, len(all)), make([]float64, cells)
	for _, i := range order {
		least := 0
		for c := range load {
			if load[c] < load[least] {
				least = c
			}
		}
		p[i] = least
		load[least] += all[i].weight
	}
	return p
}

// loads returns each cell's share of the traffic, and how many markets it has.
func (p placement) loads(all []market, cells int) (share []float64, count []int) {
	share, count = make([]float64, cells), make([]int, cells)
	for i, c := range p {
		share[c] += all[i].weight
		count[c]++
	}
	return share, count
}
