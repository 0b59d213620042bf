package money

import (
	"math"
	"math/big"
	"testing"
)

func TestAppendDecimal(t *testing.T) {
	f := func(m Micros, want string) {
		t.Helper()
		if got := string(AppendDecimal(nil, m)); got != want {
			t.Errorf("%d: %s, want %s", m, got, want)
		}
		if back, err := ParseDecimal(want); err != nil || back != m {
			t.Errorf("%s reads back as %d, %v", want, back, err)
		}
	}
	f(0, "0")
	f(1, "0.000001")
	f(-1, "-0.000001")
	f(12_950_000, "12.95")
	f(-12_000_000, "-12")
	f(MaxMicros, "4000000000000")
	f(MaxMicros-1, "3999999999999.999999")
}

func TestMinorUnits(t *testing.T) {
	f := func(m Micros, exponent uint8, minor int64, decimal string) {
		t.Helper()
		if got := Minor(m, exponent); got != minor {
			t.Errorf("%d of exponent %d: %d, want %d", m, exponent, got, minor)
		}
		if got := string(AppendMinorDecimal(nil, m, exponent)); got != decimal {
			t.Errorf("%d of exponent %d: %s, want %s", m, exponent, got, decimal)
		}
	}
	f(12_345_000, 2, 1235, "1234.5")
	f(12_344_999, 2, 1234, "1234.4999")
	f(-12_345_000, 2, -1234, "-1234.5") // Half is rounded up.
	f(-12_345_100, 2, -1235, "-1234.51")
	f(0, 2, 0, "0")
	f(1, 2, 0, "0.0001")
	f(-1, 2, 0, "-0.0001")
	f(499_999, 0, 0, "0.499999")
	f(500_000, 0, 1, "0.5")
	f(-99, 0, 0, "-0.000099")
	f(-1_000_099, 0, -1, "-1.000099")
	f(1_234_567, 1, 12, "12.34567")
	f(150, 4, 2, "1.5")
	f(MaxMicros, 4, 40_000_000_000_000_000, "40000000000000000")
	f(-MaxMicros, 0, -4_000_000_000_000, "-4000000000000")
}

func TestMinorFloor(t *testing.T) {
	for _, row := range []struct {
		m        Micros
		exponent uint8
		want     int64
	}{
		{0, 2, 0},
		{9_999, 2, 0},
		{10_000, 2, 1},
		{19_999, 2, 1},
		{-1, 2, -1},
		{-10_000, 2, -1},
		{-10_001, 2, -2},
		{999_999, 0, 0},
		{-999_999, 0, -1},
		{150, 4, 1},
		{MaxMicros, 0, 4_000_000_000_000},
	} {
		if got := MinorFloor(row.m, row.exponent); got != row.want {
			t.Errorf("%d of exponent %d: %d, want %d", row.m, row.exponent, got, row.want)
		}
	}
}

// FuzzMinor compares the integers and the text with big.Rat.
func FuzzMinor(f *testing.F) {
	f.Add(int64(12_345_000), uint8(2))
	f.Add(int64(-500_000), uint8(0))
	f.Add(int64(math.MaxInt64), uint8(4))
	f.Fuzz(func(t *testing.T, amount int64, exponent uint8) {
		exponent %= MaxExponent + 1
		m := Micros(amount) % (MaxMicros + 1)
		exact := new(big.Rat).SetFrac64(int64(m), int64(PerMinor(exponent)))
		half := new(big.Rat).Add(exact, big.NewRat(1, 2))
		if want := new(big.Int).Div(half.Num(), half.Denom()); want.Int64() != Minor(m, exponent) {
			t.Errorf("%d of exponent %d: %d, want %s", m, exponent, Minor(m, exponent), want)
		}
		text := string(AppendMinorDecimal(nil, m, exponent))
		got, ok := new(big.Rat).SetString(text)
		if !ok || !jsonNumber(text) {
			t.Fatalf("%d: %q is no number", m, text)
		}
		if exact.Cmp(got) != 0 {
			t.Errorf("%d of exponent %d: %s, want %s", m, exponent, text, exact)
		}
		if want := new(big.Int).Div(exact.Num(), exact.Denom()); want.Int64() != MinorFloor(m, exponent) {
			t.Errorf("%d of exponent %d, rounded down: %d, want %s", m, exponent, MinorFloor(m, exponent), want)
		}
	})
}
