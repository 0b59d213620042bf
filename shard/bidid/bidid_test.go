package bidid

import (
	"encoding/base64"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

var rewrite = flag.Bool("rewrite", false, "write the tokens of the golden payloads into testdata")

var keys = []Key{{ID: 3, Key: [16]byte{1, 2, 3}}, {ID: 200, Key: [16]byte{4, 5, 6}}}

// own and external are the golden payloads. All their fields have different values.
var own = Payload{
	KeyID: 200, Marketplace: 0x0102, Node: 0x0304, Epoch: 0x05060708, IssuedMillis: 1_790_000_000_123, Seq: 0x0a0b0c0d0e0f,
	Rank: 17, Charge: model.CPA, Format: BrandFormat, Shard: 0xab, PlacementIndex: 8, Weight: 1966, Campaign: 0x11121314,
	Bid: 0x15161718, Variant: 0x191a, Price: 1_234_567_890_123,
}

var external = Payload{
	KeyID: 200, Marketplace: 1, Node: 2, Epoch: 3, IssuedMillis: 4, Seq: 5, Rank: 6, External: true, Shard: 7,
	ProductHash: 0x08090a0b0c0d0e0f,
}

func mint(r *Keyring, p Payload) string {
	s := NewSigner(r)
	s.Begin(&p)
	var text [TextLen]byte
	s.Mint(&text, &p)
	return string(text[:])
}

// Tokens are valid for 30 days, also across releases, so their bytes must not change.
func TestGoldenTokens(t *testing.T) {
	const file = "testdata/tokens.txt"
	ring := NewKeyring(keys)
	got := mint(ring, own) + "\n" + mint(ring, external) + "\n"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s", got)
	}
	for i, p := range []Payload{own, external} {
		if opened, ok := ring.Open(p.Marketplace, []byte(strings.Split(string(want), "\n")[i])); !ok || opened != p {
			t.Errorf("opened %+v, want %+v", opened, p)
		}
	}
}

// The layout is that of the table in DESIGN.md, read here byte by byte.
func TestLayout(t *testing.T) {
	b, err := base64.RawURLEncoding.DecodeString(mint(NewKeyring(keys), own))
	if err != nil || len(b) != 60 {
		t.Fatal(len(b), err)
	}
	want := []byte{
		1, 200, 0x02, 0x01, 0x04, 0x03, 0x08, 0x07, 0x06, 0x05, 0x7b, 0x6c, 0x50, 0xc4, 0xa0, 0x01,
		0x0f, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 17, 3 | 2<<2, 0xab, 8, 0xae, 0x07, 0x14, 0x13, 0x12, 0x11,
		0x18, 0x17, 0x16, 0x15, 0x1a, 0x19, 0, 0, 0xcb, 0x04, 0xfb, 0x71, 0x1f, 0x01, 0, 0,
	}
	if string(b[:48]) != string(want) {
		t.Errorf("payload %x\n   want %x", b[:48], want)
	}
}

func TestOpenReturnsWhatWasMinted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	ring := NewKeyring(keys)
	for range 10_000 {
		p := Payload{
			KeyID: 200, Marketplace: uint16(r.Uint32()), Node: uint16(r.Uint32()), Epoch: r.Uint32(),
			IssuedMillis: r.Int64N(1 << 48), Seq: r.Uint64N(1 << 48), Rank: uint8(r.Uint32()),
			Charge: model.ChargeType(r.IntN(4)), Format: Format(r.IntN(5)), Shard: ids.Shard(r.Uint32()),
			PlacementIndex: uint8(r.Uint32()), Weight: uint16(r.Uint32()), Variant: uint16(r.Uint32()),
			Price: money.Micros(r.Int64N(int64(money.MaxMicros) + 1)),
		}
		if p.External = r.IntN(2) == 0; p.External {
			p.ProductHash = r.Uint64()
		} else {
			p.Campaign, p.Bid = r.Uint32(), r.Uint32()
		}
		if got, ok := ring.Open(p.Marketplace, []byte(mint(ring, p))); !ok || got != p {
			t.Fatalf("opened %+v (%v), want %+v", got, ok, p)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	ring := NewKeyring(keys)
	token := mint(ring, own)
	if _, ok := ring.Open(own.Marketplace, []byte(token)); !ok {
		t.Fatal("the token itself is refused")
	}
	for name, bad := range map[string]string{
		"empty":           "",
		"short":           token[:TextLen-1],
		"long":            token + "A",
		"padding":         token[:TextLen-1] + "=",
		"standard base64": strings.NewReplacer("-", "+", "_", "/").Replace(token[:20]) + "+" + token[21:],
		"white space":     token[:40] + "\n" + token[41:],
		"not ASCII":       token[:40] + "\xff" + token[41:],
		"unknown key":     mint(NewKeyring([]Key{{ID: 9, Key: keys[1].Key}}), own),
		"other key bytes": mint(NewKeyring([]Key{{ID: 200, Key: [16]byte{4, 5, 7}}}), own),
	} {
		if p, ok := ring.Open(own.Marketplace, []byte(bad)); ok || p != (Payload{}) {
			t.Errorf("%s: opened %+v", name, p)
		}
	}
	if _, ok := ring.Open(own.Marketplace+1, []byte(token)); ok {
		t.Error("opened in another marketplace")
	}
	if _, ok := NewKeyring(keys[:1]).Open(own.Marketplace, []byte(token)); ok {
		t.Error("opened without its key")
	}
}

// An old key still verifies, and a signer uses the newest one.
func TestRotation(t *testing.T) {
	old := mint(NewKeyring(keys[:1]), own)
	ring := NewKeyring(keys)
	if p, ok := ring.Open(own.Marketplace, []byte(old)); !ok || p.KeyID != 3 {
		t.Errorf("the old key's token: %v, key %d", ok, p.KeyID)
	}
	s := NewSigner(NewKeyring(keys[:1]))
	s.Use(ring)
	p := own
	var text [TextLen]byte
	s.Begin(&p)
	s.Mint(&text, &p)
	if string(text[:]) != mint(ring, own) {
		t.Error("the signer kept the old key")
	}
}

// Winners of one request share the first block of their tokens. Each token must equal one that is created alone.
func TestSharedPrefix(t *testing.T) {
	ring := NewKeyring(keys)
	s := NewSigner(ring)
	p := own
	s.Begin(&p)
	for rank := range uint8(40) {
		p.Rank, p.Seq, p.External = rank, own.Seq+uint64(rank/8), rank%3 == 0
		var text [TextLen]byte
		s.Mint(&text, &p)
		if string(text[:]) != mint(ring, p) {
			t.Fatalf("rank %d differs", rank)
		}
	}
}

// A token with any single bit flipped, in payload or tag, is refused.
func TestEveryBitCounts(t *testing.T) {
	ring := NewKeyring(keys)
	token, err := base64.RawURLEncoding.DecodeString(mint(ring, own))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(token) * 8 {
		token[bit/8] ^= 1 << (bit % 8)
		if _, ok := ring.Open(own.Marketplace, []byte(base64.RawURLEncoding.EncodeToString(token))); ok {
			t.Errorf("bit %d does not count", bit)
		}
		token[bit/8] ^= 1 << (bit % 8)
	}
}

// The text form equals that of encoding/base64.
func TestTextForm(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		var raw, back [tokenLen]byte
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		var text [TextLen]byte
		encode(&text, &raw)
		if want := base64.RawURLEncoding.EncodeToString(raw[:]); string(text[:]) != want {
			t.Fatalf("%s, want %s", text[:], want)
		}
		if !decode(&back, text[:]) || back != raw {
			t.Fatalf("%s does not decode to what it came from", text[:])
		}
	}
	for c := range 256 {
		want := strings.IndexByte(alphabet, byte(c))
		if got := sextet(byte(c)); int(got) != want && (want >= 0 || got != notInAlphabet) {
			t.Errorf("character %#x is %d", c, got)
		}
	}
}
