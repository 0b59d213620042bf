package pacing

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

func TestReturnBid(t *testing.T) {
	const tenPercent = 429_496_730
	for _, test := range []struct {
		name           string
		rate           uint32
		value, ceiling money.Micros
		target         uint32
		want           money.Micros
	}{
		{"one purchase of 40 in ten clicks at a target of 4", tenPercent, 40e6, 5e6, 4000, 1e6},
		{"at most the bid amount", tenPercent, 4000e6, 5e6, 4000, 5e6},
		{"no target", tenPercent, 40e6, 5e6, 0, 5e6},
		{"no purchases", 0, 40e6, 5e6, 4000, 0},
		{"nothing to bid", tenPercent, 40e6, -1, 4000, 0},
		{"no value", tenPercent, -1, 5e6, 4000, 0},
		{"the largest numbers", math.MaxUint32, money.MaxMicros, money.MaxMicros, 1, money.MaxMicros},
	} {
		if got := ReturnBid(test.rate, test.value, test.ceiling, test.target); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestReturnBidAgainstBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 100_000 {
		rate, target := r.Uint32()>>r.UintN(32), r.Uint32()>>r.UintN(32)|1
		value, ceiling := money.Micros(r.Int64N(4e18)>>r.UintN(62)), money.Micros(r.Int64N(4e18)>>r.UintN(62)+1)
		want := new(big.Int).Mul(big.NewInt(int64(value)), big.NewInt(int64(rate)*1000))
		want.Rsh(want, 32).Div(want, big.NewInt(int64(target)))
		if want.Cmp(big.NewInt(int64(ceiling))) > 0 {
			want.SetInt64(int64(ceiling))
		}
		if got := ReturnBid(rate, value, ceiling, target); int64(got) != want.Int64() {
			t.Fatalf("ReturnBid(%d, %d, %d, %d) = %d, want %v", rate, value, ceiling, target, got, want)
		}
	}
}
