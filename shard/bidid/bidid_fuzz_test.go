package bidid

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/model"
)

// FuzzOpen searches for a text that opens although it was not created by Mint: every text that opens must equal the
// token of its payload.
func FuzzOpen(f *testing.F) {
	ring := NewKeyring(keys[1:])
	f.Add([]byte(mint(ring, own)), uint16(0), byte(0))
	f.Add([]byte(mint(ring, external)), uint16(100), byte(4))
	f.Fuzz(func(t *testing.T, token []byte, at uint16, flip byte) {
		if len(token) > 0 {
			token[int(at)%len(token)] ^= flip
		}
		for _, marketplace := range []uint16{own.Marketplace, external.Marketplace} {
			p, ok := ring.Open(marketplace, token)
			if !ok {
				continue
			}
			if p.Marketplace != marketplace || p.Charge > model.CPA || p.Format > HotelFormat+1 || p.Price < 0 {
				t.Errorf("opened %+v in marketplace %d", p, marketplace)
			}
			if again := mint(ring, p); again != string(token) {
				t.Errorf("%s opened as the payload of %s", token, again)
			}
		}
	})
}
