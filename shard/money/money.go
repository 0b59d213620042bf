// Package money holds amounts as whole micro-units, so that no amount is ever a float.
//
// One micro-unit is 1e-6 of the major unit of the marketplace's currency. The interface uses two other units: minor
// units (such as cents, for campaign, bid, wallet and report amounts) and decimal major units (for prices and
// balances).
package money

import (
	"errors"
	"math/bits"
)

// Micros is an amount in micro-units of a currency. All amounts of the engine are within ±MaxMicros.
type Micros int64

// PerMajor is the number of micro-units in one major unit.
const PerMajor Micros = 1_000_000

// MaxMicros bounds every amount the engine accepts: 4e18 micro-units, so that one addition of two accepted amounts
// cannot overflow an int64.
const MaxMicros Micros = 4_000_000_000_000_000_000

// MaxExponent is the largest currency exponent (digits after the point of a minor unit) that the engine knows.
const MaxExponent = 4

// ErrRange is returned for an amount outside ±MaxMicros.
var ErrRange = errors.New("amount out of range")

// PerMinor returns how many micro-units one minor unit has in a currency of the given exponent, 0 to MaxExponent.
func PerMinor(exponent uint8) Micros {
	per := PerMajor
	for range exponent {
		per /= 10
	}
	return per
}

// FromMinor converts minor units to micro-units. It returns ErrRange for an amount outside ±MaxMicros.
func FromMinor(minor int64, exponent uint8) (Micros, error) {
	m, ok := Mul(Micros(minor), int64(PerMinor(exponent)))
	if !ok {
		return 0, ErrRange
	}
	return m, nil
}

// Add returns a+b, and whether both and the sum are within ±MaxMicros; otherwise it returns 0 and false.
func Add(a, b Micros) (Micros, bool) {
	sum := a + b // It fits an int64 for amounts within ±4e18.
	if a > MaxMicros || a < -MaxMicros || b > MaxMicros || b < -MaxMicros || sum > MaxMicros || sum < -MaxMicros {
		return 0, false
	}
	return sum, true
}

// Mul returns a*n, and whether the product is within ±MaxMicros; otherwise it returns 0 and false.
func Mul(a Micros, n int64) (Micros, bool) {
	negative := (a < 0) != (n < 0)
	hi, lo := bits.Mul64(magnitude(int64(a)), magnitude(n))
	if hi != 0 || lo > uint64(MaxMicros) {
		return 0, false
	}
	if negative {
		return -Micros(lo), true // lo is at most MaxMicros.
	}
	return Micros(lo), true // lo is at most MaxMicros.
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n) // Two's complement negation is the magnitude.
	}
	return uint64(n)
}
