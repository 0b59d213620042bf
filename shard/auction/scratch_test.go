package auction

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
)

// A Scratch keeps its memory after usual auctions and drops it after huge ones.
func TestScratchIsBounded(t *testing.T) {
	s := Scratch{hits: make([]hit, 4096), candidates: make([]candidate, 3*4096), prefiltered: make([]uint32, ProductsMax)}
	s.end()
	if len(s.hits) == 0 {
		t.Errorf("%d bytes were not kept", s.size())
	}
	s.candidates = make([]candidate, 100_000)
	s.end()
	if s.size() > keptMax {
		t.Errorf("%d bytes are kept", s.size())
	}
}

// Entries of an older generation are not found, even after the generation number wraps around.
func TestGenerationMap(t *testing.T) {
	s := generationMap{generation: ^uint32(0) - 2}
	for round := range 5 {
		s.clear()
		for key := range uint64(1000) {
			if _, ok := s.get(key); ok {
				t.Fatalf("round %d: %d is there already", round, key)
			}
			if _, added := s.add(key, uint32(key)); !added {
				t.Fatalf("round %d: %d was not added", round, key)
			}
		}
		for key := range uint64(1000) {
			if stored, added := s.add(key, 7); added || stored != uint32(key) {
				t.Fatalf("round %d: %d has %d", round, key, stored)
			}
		}
	}
}

// The charge probability of a CPC win is 3 of 100, times the visibility of the rank (1, 0.8, 0.6, 0.54), rounded up.
func TestChargeProbability(t *testing.T) {
	exposure := uint64(1 << 16)
	for rank, want := range []uint16{1967, 1573, 1180, 1062} {
		if got := tokenWeight(chargeProbability(model.CPC, exposure, learn.PriorRate)); got != want {
			t.Errorf("weight of a click at rank %d is %d, want %d", rank+1, got, want)
		}
		exposure = learn.NextVisibility(rank, exposure)
	}
	if got := tokenWeight(chargeProbability(model.CPM, 1<<16, 0)); got != 65535 {
		t.Errorf("weight of an impression is %d", got)
	}
	if got := tokenWeight(chargeProbability(model.CPA, 1<<16, learn.PriorRate)); got != 197 {
		t.Errorf("weight of a purchase is %d, want 197", got)
	}
	if got := tokenWeight(chargeProbability(model.CPC, 1<<16, 1<<32/5)); got != 13108 {
		t.Errorf("weight of a click of one impression in five is %d, want 13108", got)
	}
}

// The expected cost of a win is its price times the probability of a charge, rounded up, and never nothing.
func TestExpectedCost(t *testing.T) {
	for _, x := range []struct{ price, probability, want uint64 }{
		{1_000_000, chargeProbability(model.CPM, 1<<16, 0), 1_000_000},
		{1_000_000, chargeProbability(model.CPC, 1<<16, learn.PriorRate), 30_000},    // 29,999.9998: the prior is rounded down.
		{1_000_000, chargeProbability(model.CPC, 6<<16/10, learn.PriorRate), 18_000}, // The third rank.
		{1_000_000, chargeProbability(model.CPA, 1<<16, learn.PriorRate), 3_000},     // A purchase for each ten clicks.
		{1_000_000, chargeProbability(model.CPC, 1<<16, 1<<22), 977},                 // 976.56: a click for each 1,024 impressions.
		{1, chargeProbability(model.CPC, 1<<16, learn.PriorRate), 1},                 // A part of a micro.
		{5, 0, 1}, // No rank is that deep.
		{4_000_000_000_000_000_000, chargeProbability(model.CPM, 1, 0), 4_000_000_000_000_000_000},
		{4_000_000_000_000_000_000, 1 << 31, 2_000_000_000_000_000_000},
	} {
		if got := expectedCost(x.price, x.probability); got != x.want {
			t.Errorf("%d with probability %d: %d, want %d", x.price, x.probability, got, x.want)
		}
	}
}
