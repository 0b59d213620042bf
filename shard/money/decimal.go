package money

import (
	"errors"
	"math/bits"
)

// DecimalLenMax is the longest decimal text that is read.
const DecimalLenMax = 32 // BOUND: the interface's bound on a number; so a decimal fits on the stack.

// ErrSyntax is returned for a text that is not a JSON number or is longer than DecimalLenMax.
var ErrSyntax = errors.New("not a decimal number of at most 32 characters")

// ParseDecimal converts an amount in major units, written as a JSON number (12, 12.5, 1.25e1), to micro-units. Digits
// beyond a micro-unit are rounded half to even. The conversion is otherwise exact, because it uses no float. It returns
// ErrSyntax, or ErrRange for an amount outside ±MaxMicros.
func ParseDecimal[Text ~string | ~[]byte](text Text) (Micros, error) {
	var d decimal
	if !read(&d, text) {
		return 0, ErrSyntax
	}
	return d.micros()
}

// ParseFraction converts a JSON number from 0 to 1 to units of 2^-shift, rounded half to even. It is for factors of
// amounts, such as quality scores, which are fixed-point for the same reason as amounts. It returns ErrSyntax, or
// ErrRange for a number outside 0 to 1; the range is checked before rounding. REQUIRES: shift is at most 30.
func ParseFraction[Text ~string | ~[]byte](text Text, shift uint) (uint32, error) {
	var d decimal
	if !read(&d, text) {
		return 0, ErrSyntax
	}
	return d.fraction(shift)
}

// decimal is a number exactly as it was written: ±0.d₁d₂…dₙ × 10^point.
//
// INVARIANT: d₁ and dₙ are not 0. So n == 0 means zero, and a comparison with 1 needs no arithmetic.
type decimal struct {
	digits   [DecimalLenMax]byte // 0 to 9, not ASCII.
	n        int
	point    int
	negative bool
}

// read sets d from a JSON number and reports whether text is one. REQUIRES: d is zero.
func read[Text ~string | ~[]byte](d *decimal, text Text) bool {
	if len(text) > DecimalLenMax {
		return false
	}
	i := 0
	if i < len(text) && text[i] == '-' {
		d.negative = true
		i++
	}
	start := i
	for ; i < len(text) && isDigit(text[i]); i++ {
		if d.n > 0 || text[i] != '0' {
			d.push(text[i])
			d.point++
		}
	}
	if i == start || i > start+1 && text[start] == '0' {
		return false // No digit, or a leading zero.
	}
	if i < len(text) && text[i] == '.' {
		i++
		start = i
		for ; i < len(text) && isDigit(text[i]); i++ {
			if d.n > 0 || text[i] != '0' {
				d.push(text[i])
			} else {
				d.point--
			}
		}
		if i == start {
			return false
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		exponent, ok := readExponent(text[i+1:])
		if !ok {
			return false
		}
		d.point += exponent
		i = len(text)
	}
	for d.n > 0 && d.digits[d.n-1] == 0 {
		d.n--
	}
	return i == len(text)
}

func (d *decimal) push(c byte) {
	d.digits[d.n] = c - '0'
	d.n++
}

// exponentMax is the value at which an exponent saturates. With such an exponent every number is out of range or rounds
// to zero.
const exponentMax = 1_000

func readExponent[Text ~string | ~[]byte](text Text) (exponent int, ok bool) {
	negative := false
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		negative = text[0] == '-'
		text = text[1:]
	}
	for i := range len(text) {
		if !isDigit(text[i]) {
			return 0, false
		}
		exponent = min(10*exponent+int(text[i]-'0'), exponentMax)
	}
	if negative {
		exponent = -exponent
	}
	return exponent, len(text) > 0
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// microsDigits is the number of decimal digits that micro-units have after the point of the major unit.
const microsDigits = 6

// micros returns the number in micro-units, rounded half to even, or ErrRange.
func (d *decimal) micros() (Micros, error) {
	keep := d.point + microsDigits // Digits before the cut.
	if d.n == 0 || keep < 0 {
		return 0, nil
	}
	if keep > 19 {
		return 0, ErrRange // d₁ is not 0, so this is at least 1e19.
	}
	var m uint64 // At most 19 digits: below 2^64.
	for i := range keep {
		m *= 10
		if i < d.n {
			m += uint64(d.digits[i])
		}
	}
	if d.roundsUp(keep, m&1 == 1) {
		m++
	}
	if m > uint64(MaxMicros) {
		return 0, ErrRange
	}
	if d.negative {
		return -Micros(m), nil // m is at most MaxMicros.
	}
	return Micros(m), nil // m is at most MaxMicros.
}

// roundsUp reports whether rounding half to even after keep digits goes away from zero. odd says that the last kept
// digit is odd.
func (d *decimal) roundsUp(keep int, odd bool) bool {
	if keep >= d.n || d.digits[keep] < 5 {
		return false
	}
	return d.digits[keep] > 5 || keep+1 < d.n || odd // dₙ is not 0, so a digit behind the 5 breaks the tie.
}

// fraction returns the number in units of 2^-shift, rounded half to even, or ErrRange. It computes one bit after the
// other by doubling the decimal digits: the carry over the point is the next bit. That is exact for any number of
// digits. The numbers that real clients send have few digits, for which fractionShort needs one 128-bit multiplication
// and division.
func (d *decimal) fraction(shift uint) (uint32, error) {
	switch {
	case d.n == 0:
		return 0, nil
	case d.negative, d.point > 1, d.point == 1 && (d.n > 1 || d.digits[0] > 1):
		return 0, ErrRange
	case d.point == 1:
		return 1 << shift, nil
	case d.point < -10: // Below 1e-10, less than half of 2^-30.
		return 0, nil
	}
	if d.n-d.point <= 18 {
		return d.fractionShort(shift), nil
	}
	var digits [DecimalLenMax + 10]byte
	n := copy(digits[-d.point:], d.digits[:d.n]) - d.point
	var m uint32
	for range shift {
		m = m<<1 | uint32(double(digits[:n]))
	}
	half := double(digits[:n])
	rest := byte(0)
	for _, digit := range digits[:n] {
		rest |= digit
	}
	if half == 1 && (rest != 0 || m&1 == 1) {
		m++
	}
	return m, nil
}

// fractionShort is fraction for at most 18 digits after the point.
func (d *decimal) fractionShort(shift uint) uint32 {
	numerator, denominator := uint64(0), uint64(1) // Below 1e18, which is below 2^60.
	for i := range d.n {
		numerator = 10*numerator + uint64(d.digits[i])
	}
	for range d.n - d.point {
		denominator *= 10
	}
	hi, lo := bits.Mul64(numerator, 1<<shift)
	m, rest := bits.Div64(hi, lo, denominator) // m < 2^30, because numerator < denominator.
	if 2*rest > denominator || 2*rest == denominator && m&1 == 1 {
		m++
	}
	return uint32(m) // At most 2^30.
}

// double doubles the number 0.d₁d₂… in place and returns the carry over the point, 0 or 1.
func double(digits []byte) (carry byte) {
	for i := len(digits) - 1; i >= 0; i-- {
		twice := 2*digits[i] + carry
		carry = 0
		if twice >= 10 {
			twice -= 10
			carry = 1
		}
		digits[i] = twice
	}
	return carry
}
