package money

import (
	"errors"
	"math"
	"math/big"
	"testing"
)

func TestFromMinor(t *testing.T) {
	f := func(minor int64, exponent uint8, want Micros, wantErr error) {
		t.Helper()
		if got, err := FromMinor(minor, exponent); got != want || !errors.Is(err, wantErr) {
			t.Errorf("%d of exponent %d: %d, %v; want %d, %v", minor, exponent, got, err, want, wantErr)
		}
	}
	f(1, 0, 1_000_000, nil)
	f(-1, 2, -10_000, nil)
	f(20_000_000_000, 4, 2_000_000_000_000, nil)
	f(int64(MaxMicros)/1_000_000, 0, MaxMicros, nil)
	f(int64(MaxMicros)/1_000_000+1, 0, 0, ErrRange)
	f(math.MinInt64, 0, 0, ErrRange)
}

// FuzzArithmetic compares checked arithmetic with big integers.
func FuzzArithmetic(f *testing.F) {
	f.Add(int64(MaxMicros), int64(1))
	f.Add(int64(-MaxMicros), int64(-1))
	f.Add(int64(math.MinInt64), int64(math.MinInt64))
	f.Add(int64(2_000_000_000), int64(2_000_000_000))
	f.Add(int64(3_000_000_001), int64(1_000_000_001)) // A float64 cannot represent the product.
	f.Fuzz(func(t *testing.T, a, b int64) {
		bound := big.NewInt(int64(MaxMicros))
		accepted := func(x *big.Int) bool { return x.CmpAbs(bound) <= 0 }
		bigA, bigB := big.NewInt(a), big.NewInt(b)

		product := new(big.Int).Mul(bigA, bigB)
		if got, ok := Mul(Micros(a), b); ok != accepted(product) || ok && int64(got) != product.Int64() {
			t.Errorf("%d * %d = %d, %v; want %s", a, b, got, ok, product)
		}
		sum := new(big.Int).Add(bigA, bigB)
		fine := accepted(bigA) && accepted(bigB) && accepted(sum)
		if got, ok := Add(Micros(a), Micros(b)); ok != fine || ok && int64(got) != sum.Int64() {
			t.Errorf("%d + %d = %d, %v; want %s", a, b, got, ok, sum)
		}
	})
}
