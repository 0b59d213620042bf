package shop

import (
	"fmt"
	"math"
	"strings"
)

// Micros is an amount in millionths of the major unit. One minor unit is MinorUnit of them.
type Micros int64

// MinorUnit is one hundredth of the major unit.
const MinorUnit Micros = 10_000

// String prints the amount in major units with all its decimals.
func (m Micros) String() string {
	sign, v := "", int64(m)
	if v < 0 {
		sign, v = "-", -v
	}
	return fmt.Sprintf("%s%d.%06d", sign, v/1e6, v%1e6)
}

// ParseMajor reads a decimal number of major units, as balances have; ParseMinor one of minor units, as adSpentDecimal
// has. Digits beyond a millionth are an error, because no ledger can have such an amount.
func ParseMajor(text string) (Micros, error) { return parseDecimal(text, 6) }

// ParseMinor reads a decimal number of minor units.
func ParseMinor(text string) (Micros, error) { return parseDecimal(text, 4) }

// parseDecimal reads [-]digits[.digits] and scales it by 10^scale without a float.
func parseDecimal(text string, scale int) (Micros, error) {
	bad := fmt.Errorf("%q is not an amount with at most %d decimals", text, scale)
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, dotted := strings.Cut(digits, ".")
	fraction = strings.TrimRight(fraction, "0")
	if whole == "" || len(fraction) > scale || (dotted && strings.HasSuffix(digits, ".")) {
		return 0, bad
	}
	var v int64
	for _, c := range whole + fraction + strings.Repeat("0", scale-len(fraction)) {
		if c < '0' || c > '9' || v > (math.MaxInt64-9)/10 {
			return 0, bad
		}
		v = v*10 + int64(c-'0')
	}
	if negative {
		v = -v
	}
	return Micros(v), nil
}
