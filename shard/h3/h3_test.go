package h3_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/h3"
)

// Cells from the H3 documentation with their parents, and texts that are not cells.
func TestGoldenCells(t *testing.T) {
	for text, want := range map[string]struct {
		resolution int
		parents    []string
	}{
		"8001fffffffffff":  {0, nil},
		"8009fffffffffff":  {0, nil}, // A pentagon.
		"80f3fffffffffff":  {0, nil}, // The last base cell.
		"821c07fffffffff":  {2, []string{"801dfffffffffff", "811c3ffffffffff"}},
		"85283473fffffff":  {5, []string{"8029fffffffffff", "81283ffffffffff", "822837fffffffff", "832834fffffffff", "8428347ffffffff"}},
		"8928308280fffff":  {9, []string{"8029fffffffffff", "81283ffffffffff", "822837fffffffff", "832830fffffffff", "8428309ffffffff", "85283083fffffff", "86283082fffffff", "872830828ffffff", "8828308281fffff"}},
		"8F2830828052D25":  {15, nil},
		"08928308280fffff": {9, nil},
	} {
		c, ok := h3.Parse([]byte(text))
		if !ok || c.Resolution() != want.resolution {
			t.Errorf("%s: %t, resolution %d", text, ok, c.Resolution())
		}
		for i, p := range want.parents {
			parent, ok := h3.Parse([]byte(p))
			if !ok || c.Parent(i) != parent || !parent.Contains(c) || c.Contains(parent) {
				t.Errorf("%s: parent %d is %x, want %s (%t)", text, i, uint64(c.Parent(i)), p, ok)
			}
		}
		if !c.Contains(c) {
			t.Errorf("%s does not contain itself", text)
		}
	}
	for _, text := range []string{
		"", "8001", "8928308280ffff", "8928308280fffffff", "8928308280ffffg", "18928308280fffff",
		"80f5fffffffffff", // No such base cell.
		"8928308281fffff", // A digit is missing.
		"8828308280fffff", // One digit too many.
		"1928308280fffff", // Not a cell but an edge.
		"81087ffffffffff", // The direction that does not exist below a pentagon.
		"820847fffffffff", // The same, one resolution finer, below direction 0.
		"0000000000000000",
	} {
		if c, ok := h3.Parse([]byte(text)); ok {
			t.Errorf("%q is a cell %x", text, uint64(c))
		}
	}
	other, _ := h3.Parse([]byte("8528347bfffffff"))
	c, _ := h3.Parse([]byte("85283473fffffff"))
	if c.Contains(other) || other.Contains(c) {
		t.Error("neighbours contain each other")
	}
}

// TestAgainstBits compares with an independent implementation that reads cells as texts of bits, on random numbers that
// are almost cells.
func TestAgainstBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cells := 0
	for range 60_000 {
		n := uint64(1)<<59 | uint64(r.IntN(16))<<52 | uint64(r.IntN(128))<<45
		for i := range 15 {
			digit := uint64(r.IntN(7))
			if i >= int(n>>52&15) {
				digit = 7
			}
			if i < 3 && r.IntN(2) == 0 {
				digit &^= 6
			}
			n |= digit << (3 * (14 - i))
		}
		if r.IntN(4) == 0 {
			n ^= 1 << r.IntN(64)
		}
		text := fmt.Sprintf("%016x", n)
		c, ok := h3.Parse([]byte(text))
		if ok != valid(n) {
			t.Fatalf("%s: %t, want %t", text, ok, valid(n))
		}
		if !ok {
			continue
		}
		cells++
		res := r.IntN(c.Resolution() + 1)
		if want := parent(n, res); uint64(c.Parent(res)) != want || !valid(want) {
			t.Fatalf("%s: parent %d is %x, want %x", text, res, uint64(c.Parent(res)), want)
		}
	}
	if cells < 20_000 {
		t.Fatalf("only %d of the numbers were cells", cells)
	}
}

// FuzzParse compares with strconv.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"8928308280fffff", "08928308280FFFFF", "81087ffffffffff", "0x28308280fffff", "+928308280fffff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := strconv.ParseUint(text, 16, 64)
		want := err == nil && (len(text) == 15 || len(text) == 16) && valid(n)
		c, ok := h3.Parse([]byte(text))
		if ok != want || ok && uint64(c) != n {
			t.Fatalf("%q: %x, %t; want %x, %t", text, uint64(c), ok, n, want)
		}
		for res := range c.Resolution() + 1 {
			if p := c.Parent(res); ok && (!p.Contains(c) || uint64(p) != parent(n, res)) {
				t.Fatalf("%q: parent %d is %x", text, res, uint64(p))
			}
		}
	})
}

func valid(n uint64) bool {
	s := fmt.Sprintf("%064b", n)
	var res, base int
	fmt.Sscanf(s[8:12], "%b", &res)
	fmt.Sscanf(s[12:19], "%b", &base)
	var path strings.Builder
	for i := range 15 {
		var digit int
		fmt.Sscanf(s[19+3*i:22+3*i], "%b", &digit)
		_, _ = fmt.Fprint(&path, digit)
	}
	if s[:8] != "00001000" || base > 121 || strings.Contains(path.String()[:res], "7") || path.String()[res:] != strings.Repeat("7", 15-res) {
		return false
	}
	for _, pentagon := range []int{4, 14, 24, 38, 49, 58, 63, 72, 83, 97, 107, 117} {
		if base == pentagon && strings.HasPrefix(strings.TrimLeft(path.String(), "0"), "1") {
			return false
		}
	}
	return true
}

func parent(n uint64, res int) uint64 {
	s := fmt.Sprintf("%064b", n)
	s = s[:8] + fmt.Sprintf("%04b", res) + s[12:19+3*res] + strings.Repeat("111", 15-res)
	var p uint64
	fmt.Sscanf(s, "%b", &p)
	return p
}
