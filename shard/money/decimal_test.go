package money

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
)

// roundHalfEven returns the integer nearest to r; of two equally near ones, the even one.
func roundHalfEven(r *big.Rat) *big.Int {
	floor := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean, and Denom is positive: the floor.
	rest := new(big.Rat).Sub(r, new(big.Rat).SetInt(floor))
	switch rest.Cmp(big.NewRat(1, 2)) {
	case 1:
		floor.Add(floor, big.NewInt(1))
	case 0:
		floor.Add(floor, new(big.Int).And(floor, big.NewInt(1)))
	}
	return floor
}

func scaled(text string, scale int64) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("no number: " + text)
	}
	return r.Mul(r, new(big.Rat).SetInt64(scale))
}

// jsonNumber reports whether text is one JSON number with nothing around it.
func jsonNumber(text string) bool {
	return json.Valid([]byte(text)) && strings.TrimSpace(text) == text && strings.Trim(text, "+-.0123456789eE") == ""
}

func TestParseDecimal(t *testing.T) {
	f := func(text string, want Micros, wantErr error) {
		t.Helper()
		got, err := ParseDecimal(text)
		if got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: %d, %v; want %d, %v", text, got, err, want, wantErr)
		}
	}
	f("0", 0, nil)
	f("-0", 0, nil)
	f("0.0", 0, nil)
	f("12.95", 12_950_000, nil)
	f("-12.95", -12_950_000, nil)
	f("1e3", 1_000_000_000, nil)
	f("1.5E-2", 15_000, nil)
	f("1e+0", 1_000_000, nil)
	f("0.0000005", 0, nil) // Half to even.
	f("0.0000015", 2, nil)
	f("0.0000025", 2, nil)
	f("0.00000250000000000000000001", 3, nil)
	f("0.0000024999999999999999", 2, nil)
	f("-0.0000015", -2, nil)
	f("0.9999999", 1_000_000, nil)
	f("4000000000000", MaxMicros, nil)
	f("-4000000000000", -MaxMicros, nil)
	f("4000000000000.0000005", MaxMicros, nil) // Rounds down to the bound.
	f("4000000000000.000001", 0, ErrRange)
	f("1e400", 0, ErrRange)
	f("1e99999999999999999999", 0, ErrRange)
	f("0e99999999999999999999", 0, nil)
	f("1e-99999999999999999999", 0, nil)
	f("99999999999999999999999999999999", 0, ErrRange)
	f("999999999999999999999999999999999", 0, ErrSyntax) // 33 characters.
	f("1.0000000000000000000000000000000", 0, ErrSyntax)
	for _, text := range []string{"", "-", "+1", ".5", "1.", "01", "-01", "1e", "1e+", "1e1.0", "0x10", "NaN", "Inf", " 1", "1 ", "1_0", "1,5", "--1"} {
		f(text, 0, ErrSyntax)
	}
}

func TestParseFraction(t *testing.T) {
	f := func(text string, want uint32, wantErr error) {
		t.Helper()
		got, err := ParseFraction([]byte(text), 30)
		if got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: %d, %v; want %d, %v", text, got, err, want, wantErr)
		}
	}
	f("0", 0, nil)
	f("-0.0", 0, nil)
	f("1", 1<<30, nil)
	f("1.000", 1<<30, nil)
	f("10e-1", 1<<30, nil)
	f("0.5", 1<<29, nil)
	f("0.25", 1<<28, nil)
	f("1.0000000000000000000000000001", 0, ErrRange) // Checked before rounding.
	f("2", 0, ErrRange)
	f("1e9", 0, ErrRange)
	f("-0.1", 0, ErrRange)
	f("4.656612873077392578125e-10", 0, nil) // 2^-31, the tie between 0 and 1.
	f("4.6566128730773925781250001e-10", 1, nil)
	f("1.3969838619232177734375e-9", 2, nil) // 3 × 2^-31, the tie between 1 and 2.
	f("0.9999999999999999999999999999", 1<<30, nil)
	f("1e-300", 0, nil)
	f("x", 0, ErrSyntax)
}

// FuzzDecimal compares both parsers with big.Rat.
func FuzzDecimal(f *testing.F) {
	for _, seed := range []string{"0", "-12.95", "1e3", "0.0000015", "4.656612873077392578125e-10", "0.33333333333333333333333333333", "01", "1.e1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		micros, err := ParseDecimal(text)
		fraction, fractionErr := ParseFraction(text, 30)
		readable := len(text) <= DecimalLenMax && jsonNumber(text)
		if readable == errors.Is(err, ErrSyntax) || readable == errors.Is(fractionErr, ErrSyntax) {
			t.Fatalf("%q is readable: %v; got %v and %v", text, readable, err, fractionErr)
		}
		if !readable || strings.ContainsAny(text, "eE") && hugeExponent(text) {
			return // big.Rat would expand it.
		}
		want := roundHalfEven(scaled(text, int64(PerMajor)))
		inRange := want.CmpAbs(big.NewInt(int64(MaxMicros))) <= 0
		if inRange != (err == nil) || inRange && want.Int64() != int64(micros) {
			t.Errorf("%s: %d micros, %v; want %s", text, micros, err, want)
		}
		value := scaled(text, 1)
		inRange = value.Sign() >= 0 && value.Cmp(big.NewRat(1, 1)) <= 0
		want = roundHalfEven(scaled(text, 1<<30))
		if inRange != (fractionErr == nil) || inRange && want.Int64() != int64(fraction) {
			t.Errorf("%s: fraction %d, %v; want %s", text, fraction, fractionErr, want)
		}
	})
}

func hugeExponent(text string) bool {
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	return len(strings.TrimLeft(exponent, "+-0")) > 3
}
