package money

import "strconv"

// AppendDecimal appends the amount in major units as a JSON number, exactly and without trailing zeros: 12.95,
// -0.000001.
func AppendDecimal(dst []byte, m Micros) []byte {
	if m < 0 {
		dst = append(dst, '-')
	}
	return appendFixed(dst, magnitude(int64(m)), uint64(PerMajor))
}

// Minor returns the amount in minor units of a currency, rounded half up, as in the report member adSpent.
func Minor(m Micros, exponent uint8) int64 {
	per := int64(PerMinor(exponent))
	units, rest := int64(m)/per, int64(m)%per
	if rest < 0 { // Use the floor, so that half is always rounded up.
		units, rest = units-1, rest+per
	}
	if 2*rest >= per {
		units++
	}
	return units
}

// MinorFloor returns the amount in whole minor units of a currency, rounded down: what is left of a budget or a wallet is never shown
// as more than it is.
func MinorFloor(m Micros, exponent uint8) int64 {
	per := PerMinor(exponent)
	units := m / per
	if m%per < 0 {
		units--
	}
	return int64(units)
}

// AppendMinorDecimal appends the exact amount in minor units, as in the report member adSpentDecimal: with at most four decimals for a
// currency with an exponent of two, and with as many as the micro-unit needs for others.
func AppendMinorDecimal(dst []byte, m Micros, exponent uint8) []byte {
	if m < 0 {
		dst = append(dst, '-')
	}
	return appendFixed(dst, magnitude(int64(m)), uint64(PerMinor(exponent)))
}

// appendFixed appends value/per as a decimal without trailing zeros. REQUIRES: per is a power of ten.
func appendFixed(dst []byte, value, per uint64) []byte {
	dst = strconv.AppendUint(dst, value/per, 10)
	rest := value % per
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for rest != 0 {
		per /= 10
		dst = append(dst, '0'+byte(rest/per)) // One digit.
		rest %= per
	}
	return dst
}
