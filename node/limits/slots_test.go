package limits

import "testing"

// taken returns how many slots a marketplace gets when it takes all that it may have.
func taken(s *Slots, marketplace uint16) (n int) {
	for s.Take(marketplace) {
		n++
	}
	return n
}

// However many requests the marketplaces before it have under way, the next one gets a slot.
func TestSlotsAreLeftForTheNextMarketplace(t *testing.T) {
	s := NewSlots(96)
	if n := taken(s, 1); n != 48 {
		t.Errorf("one marketplace alone has %d of 96 slots, want half", n)
	}
	if n := taken(s, 2); n != 24 {
		t.Errorf("the second has %d of the 48 that are left, want half of them", n)
	}
	for range 16 {
		s.Free(1)
	}
	if n := taken(s, 2); n != 8 {
		t.Errorf("the second gets %d of the slots that became free, want 8: a third of all in all", n)
	}
	if s.Take(1) {
		t.Error("the first has a third of the slots, and as many are free, but it gets one more")
	}
	if !s.Take(3) {
		t.Error("the third has no request under way and gets no slot")
	}
	if s.Refusals() != 4 {
		t.Errorf("%d refusals were counted, want 4", s.Refusals())
	}
}

// A slot that is free again can be taken by anybody, and nothing is kept of a marketplace without requests.
func TestSlotsAreFreeAgain(t *testing.T) {
	s := NewSlots(0)
	for m := range uint16(1000) {
		if !s.Take(m) {
			t.Fatalf("marketplace %d gets no slot although all are free", m)
		}
		s.Free(m)
	}
	if s.served != 0 || len(s.by) != 0 {
		t.Errorf("%d slots of %d marketplaces are taken after all were freed", s.served, len(s.by))
	}
}
