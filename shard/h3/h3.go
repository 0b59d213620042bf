// Package h3 implements the part of the H3 grid (h3geo.org) that targeting needs: whether a number is a cell index, and
// whether a cell contains another one. It computes no coordinates.
//
// A cell index has 64 bits, from the highest: a zero bit; 4 bits of mode, 1 for a cell; 3 zero bits; 4 bits of
// resolution; 7 bits of base cell; and 15 digits of 3 bits. The digits beyond the resolution are 7.
package h3

// Cell is the index of an H3 cell. REQUIRES: the value comes from Parse or Parent.
type Cell uint64

// The layout.
const (
	modeShift       = 59
	cellMode        = 1 // With the zero bit above it and the zero bits below, compared as 8 bits.
	resolutionShift = 52
	baseShift       = 45
	baseCells       = 122
	digits          = 15
	digitBits       = 3
	unused          = 7 // A digit beyond the resolution.
)

// pentagons is the set of base cells with five neighbours. Their descendants in direction 1 do not exist.
var pentagons = [2]uint64{
	1<<4 | 1<<14 | 1<<24 | 1<<38 | 1<<49 | 1<<58 | 1<<63, 1<<(72-64) | 1<<(83-64) | 1<<(97-64) | 1<<(107-64) | 1<<(117-64),
}

// Parse reads a cell written as 15 hexadecimal digits in any case, or as 16 digits of which the first is 0. It returns
// false for any other text and for a number that is not a cell.
func Parse(text []byte) (Cell, bool) {
	if len(text) != digits && len(text) != digits+1 {
		return 0, false
	}
	var n uint64
	for _, c := range text {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(c)
	}
	return Cell(n), valid(n)
}

// valid reports whether a number is a cell.
func valid(n uint64) bool {
	base := n >> baseShift & 0x7f
	if n>>56 != cellMode<<(modeShift-56) || base >= baseCells {
		return false
	}
	first := uint64(0) // The first digit that is not 0.
	for i := range digits {
		digit := n >> (digitBits * (digits - 1 - i)) & 7
		if (digit == unused) != (i >= Cell(n).Resolution()) {
			return false
		}
		if first == 0 {
			first = digit
		}
	}
	return first != 1 || pentagons[base/64]>>(base%64)&1 == 0
}

// Resolution returns the fineness of a cell, 0 to 15.
func (c Cell) Resolution() int { return int(c >> resolutionShift & 15) } // 4 bits.

// Parent returns the cell of a coarser resolution that contains c. REQUIRES: resolution is from 0 to that of c.
func (c Cell) Parent(resolution int) Cell {
	rest := uint64(1)<<(digitBits*(digits-resolution)) - 1
	return c&^(15<<resolutionShift) | Cell(resolution)<<resolutionShift | Cell(rest) // 0 to 15.
}

// Contains reports whether d equals c or is a descendant of c.
func (c Cell) Contains(d Cell) bool {
	return c.Resolution() <= d.Resolution() && d.Parent(c.Resolution()) == c
}
