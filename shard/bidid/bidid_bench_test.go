package bidid

import "testing"

func BenchmarkMint(b *testing.B) {
	s := NewSigner(NewKeyring(keys))
	p := own
	s.Begin(&p)
	var text [TextLen]byte
	b.ReportAllocs()
	for b.Loop() {
		s.Mint(&text, &p)
	}
}

func BenchmarkOpen(b *testing.B) {
	ring := NewKeyring(keys)
	token := []byte(mint(ring, own))
	b.ReportAllocs()
	for b.Loop() {
		ring.Open(own.Marketplace, token)
	}
}
