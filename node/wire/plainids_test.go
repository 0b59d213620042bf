package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

// TestRunsOfIDs compares ids that are read as a run with the same ids that are read one by one. Blanks between the ids end
// every run; they must change neither the ids nor the code, whatever value is between the valid ones.
func TestRunsOfIDs(t *testing.T) {
	irregular := []string{
		`""`, `"a"`, `"a\"b,cdef"`, `"a\u0041bcdef"`, `"tab	cdefg"`, "\"\x00bcdefghi\"", `"größer-8"`, "\"\xffbcdefghi\"", "\"\x80bcdefghi\"", `"a b!cdef g"`,
		`7`, `null`, `12345678`, `["12345678"]`, `"12345678`, `12345678"`, `'12345678'`, `"1234","678"`, `"12345678";"1234567"`, ``,
	}
	for length := 6; length <= 18; length++ {
		for at := range 7 {
			for _, value := range append(irregular, `"`+strings.Repeat("x", length+1)+`"`) {
				list := make([]string, 7)
				for i := range list {
					list[i] = fmt.Sprintf(`"%0*d"`, length, i)
				}
				list[at] = value
				run, runCode := readIDs(strings.Join(list, ","))
				single, singleCode := readIDs(strings.Join(list, " , "))
				if runCode != singleCode || runCode == apierr.OK && !slices.Equal(run, single) {
					t.Errorf("length %d, %s at %d: %v %q, one by one %v %q", length, value, at, runCode, run, singleCode, single)
				}
			}
		}
	}
}

// readIDs returns the ids that the parser makes of a list, each with its hash.
func readIDs(list string) (read []string, code apierr.Code) {
	req := auction.Request{Seed: 5, Body: []byte(`{"auctions":[{"type":"listings","slots":1,"products":{"ids":[` + list + `]}}]}`)}
	var f Fault
	for range 2 { // The second time the slice is large enough for all ids.
		code = ParseAuctions(&req, &f)
	}
	for i := range req.Auctions {
		for _, id := range req.Auctions[i].Products {
			read = append(read, fmt.Sprintf("%s %x", req.Text(id.Span), id.Hash))
		}
	}
	return read, code
}

// TestUnusual checks that unusual marks every word in which special marks a byte.
func TestUnusual(t *testing.T) {
	for c := range uint64(256) {
		for _, beside := range []uint64{0, ' ', '!', '"', '#', '\\', ']', 'a', 0x80, 0xdc, 0xff} {
			w := beside*ones&^0xff00 | c<<8
			if special(w) != 0 && unusual(w) == 0 {
				t.Errorf("%#016x passes", w)
			}
		}
	}
}

// FuzzEqualLengthIDs compares the reader in assembly with the one in Go: both must read the same ids and stop at the same
// place for every text.
func FuzzEqualLengthIDs(f *testing.F) {
	f.Add([]byte(`"12345678","abcdefgh","ABCD!FGH","x"]`), uint8(8), uint8(5), uint64(7))
	f.Add([]byte("\"123456789012\",\"12345678\x8012\",\"1234567\\9012\","), uint8(12), uint8(3), uint64(0))
	f.Fuzz(func(t *testing.T, src []byte, length, most uint8, seed uint64) {
		if len(src) == 0 || src[0] != '"' {
			return
		}
		compareEqualLengthIDs(t, src, 8+int(length%9), int(most), seed)
	})
}

func compareEqualLengthIDs(t *testing.T, src []byte, length, most int, seed uint64) int {
	t.Helper()
	got, want := make([]auction.ID, most), make([]auction.ID, most)
	n := equalLengthIDs(got, src, seed, 0, length, market.TagFilter{})
	if m := equalLengthIDsGeneric(want, src, seed, 0, length); n != m || !slices.Equal(got, want) {
		t.Fatalf("%q, length %d, at most %d: %d %v, want %d %v", src, length, most, n, got, m, want)
	}
	return n
}

func TestEqualLengthIDsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	read := 0
	for range 20_000 {
		length, most := 8+r.IntN(9), r.IntN(12)
		var src []byte
		for range r.IntN(12) {
			src = append(src, '"')
			for range length {
				src = append(src, byte('#'+r.IntN('\\'-'#')))
			}
			src = append(src, '"', ',')
		}
		src = append(src, '"', 'x')
		for range r.IntN(2) { // One byte becomes a random one.
			src[1+r.IntN(len(src)-1)] = byte(r.Uint32())
		}
		read += compareEqualLengthIDs(t, src[:1+r.IntN(len(src))], length, most, r.Uint64())
	}
	if read < 20_000 {
		t.Errorf("only %d ids were read", read)
	}
}
