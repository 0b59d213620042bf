//go:build !race

package bidid

import "testing"

func TestAllocatesNothing(t *testing.T) {
	ring := NewKeyring(keys)
	s := NewSigner(ring)
	p := own
	var text [TextLen]byte
	if n := testing.AllocsPerRun(100, func() {
		s.Begin(&p)
		s.Mint(&text, &p)
		ring.Open(p.Marketplace, text[:])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
