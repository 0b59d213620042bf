package market

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// The tokens of external winners contain a hash that must be the same in every release.
func TestHashIsStable(t *testing.T) {
	text := []byte("The quick brown fox jumps over the lazy dog, twice over.")
	for n, want := range map[int]uint64{
		0: 0xa484cd94879f76cd, 1: 0xf6ddda5171b0d46e, 4: 0x47e46cae81c5d91a, 10: 0x62ea70d3f2ada168, 16: 0x26586e0449ff5307, 17: 0x87f05b18e7820fc1, 56: 0xbc298501359382d6,
	} {
		if got := Hash(7, text[:n]); got != want {
			t.Errorf("Hash(7, %d bytes) = %#x, want %#x", n, got, want)
		}
	}
}

// Each bit of the text, its length and each bit of the seed changes about half of the bits of the hash.
func TestHashMixes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 70 {
		sum, count := 0, 0
		for range 50 {
			seed := r.Uint64()
			text := make([]byte, n)
			for i := range text {
				text[i] = byte(r.Uint32())
			}
			hash := Hash(seed, text)
			changed := func(other uint64) {
				if hash == other {
					t.Fatalf("%d bytes: a change is lost", n)
				}
				sum += bits.OnesCount64(hash ^ other)
				count++
			}
			for bit := range 8 * n {
				text[bit/8] ^= 1 << (bit % 8)
				changed(Hash(seed, text))
				text[bit/8] ^= 1 << (bit % 8)
			}
			for bit := range 64 {
				changed(Hash(seed^1<<bit, text))
			}
			changed(Hash(seed, append(text, 0)))
		}
		if mean := float64(sum) / float64(count); mean < 31 || mean > 33 {
			t.Errorf("%d bytes: a change flips %.1f bits of 64", n, mean)
		}
	}
}

// Numbered ids, which are common, spread over buckets as evenly as random ones.
func TestHashSpreadsNumberedIDs(t *testing.T) {
	const buckets = 1 << 12
	var load [buckets]int
	for i := range 16 * buckets {
		load[Hash(99, []byte("sku"+string(rune('0'+i%10))+string(rune('0'+i/10%10))+string(rune('A'+i/100))))%buckets]++
	}
	chi := 0
	for _, n := range load {
		chi += (n - 16) * (n - 16)
	}
	if mean := chi / buckets; mean < 14 || mean > 18 { // The variance of a Poisson distribution is its mean.
		t.Errorf("variance of the load is %d, want about 16", mean)
	}
}

// Two texts have the same folded form exactly if strings.EqualFold reports them as equal.
func TestAppendFoldAgreesWithEqualFold(t *testing.T) {
	texts := [][]byte{
		[]byte("berlin"), []byte("BERLIN"), []byte("BeRlIn"), []byte("köln"), []byte("KÖLN"), []byte("strasse"), []byte("straße"),
		[]byte("STRASSE"), []byte("\u017ftrasse"), []byte("\u212aelvin"), []byte("kelvin"), []byte("σίσυφος"), []byte("ΣΊΣΥΦΟΣ"),
		[]byte("ǆ"), []byte("ǅ"), []byte("Ǆ"), []byte("i"), []byte("I"), []byte("ı"), []byte("İ"),
		{},
		[]byte("1-9 _"),
	}
	for _, a := range texts {
		for _, b := range texts {
			if got, want := bytes.Equal(AppendFold(nil, a), AppendFold(nil, b)), bytes.EqualFold(a, b); got != want {
				t.Errorf("%q and %q fold alike: %v, want %v", a, b, got, want)
			}
		}
	}
	for r := range rune(0x2fff) {
		if a, b := string(r), string(bytes.ToUpper([]byte(string(r)))); bytes.EqualFold([]byte(a), []byte(b)) !=
			bytes.Equal(AppendFold(nil, []byte(a)), AppendFold(nil, []byte(b))) {
			t.Errorf("%q and %q", a, b)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	text := []byte("sku0123456")
	for b.Loop() {
		Hash(1, text)
	}
}

// HashShort gives the same hash as Hash.
func TestHashShort(t *testing.T) {
	text := []byte("0123456789abcdef")
	for n := 8; n <= 16; n++ {
		head, tail := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[n-8:])
		if got, want := HashShort(7, head, tail, n), Hash(7, text[:n]); got != want {
			t.Errorf("%d bytes: %#x, want %#x", n, got, want)
		}
	}
}
