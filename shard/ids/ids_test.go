package ids

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestTextForm(t *testing.T) {
	u := UUID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}
	const text = "01234567-89ab-cdef-fedc-ba9876543210"
	if got := u.String(); got != text {
		t.Errorf("String() = %s, want %s", got, text)
	}
	if got := string(u.AppendText([]byte("id="))); got != "id="+text {
		t.Errorf("AppendText = %s", got)
	}
	for _, in := range []string{text, strings.ToUpper(text)} {
		if got, err := Parse(in); err != nil || got != u {
			t.Errorf("Parse(%s) = %s, %v", in, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"",
		"01234567-89ab-cdef-fedc-ba987654321",
		"01234567-89ab-cdef-fedc-ba98765432100",
		"0123456789abcdeffedcba9876543210",
		"{1234567-89ab-cdef-fedc-ba987654321}",
		"01234567_89ab_cdef_fedc_ba9876543210",
		"01234567-89ab-cdef-fedcb-a9876543210",
		"0123456g-89ab-cdef-fedc-ba9876543210",
		"01234567-89ab-cdef-fedc-ba987654321ä",
		" 1234567-89ab-cdef-fedc-ba9876543210",
	} {
		if got, err := Parse(in); !errors.Is(err, ErrNotUUID) || got != (UUID{}) {
			t.Errorf("Parse(%q) = %s, %v", in, got, err)
		}
	}
}

func TestIsZero(t *testing.T) {
	if !(UUID{}).IsZero() || (UUID{15: 1}).IsZero() {
		t.Error("only the zero id is unset")
	}
}

// Mint returns a UUIDv7: time, version and variant, and random bits except for the shard.
func TestMint(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 123_000_000, time.UTC).UnixMilli()
	for _, entropy := range [][10]byte{{}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		u := Mint(at, entropy, 0xa5)
		if ShardOf(u) != 0xa5 {
			t.Errorf("%s is in shard %d", u, ShardOf(u))
		}
		if u[6]>>4 != 7 || u[8]>>6 != 2 {
			t.Errorf("%s is no UUIDv7", u)
		}
		if got := int64(u[0])<<40 | int64(u[1])<<32 | int64(u[2])<<24 | int64(u[3])<<16 | int64(u[4])<<8 | int64(u[5]); got != at {
			t.Errorf("%s has time %d, want %d", u, got, at)
		}
	}
	if a, b := Mint(at, [10]byte{}, 255), Mint(at+1, [10]byte{}, 0); a.String() >= b.String() {
		t.Error("ids do not sort by time")
	}
	if Mint(at, [10]byte{0: 1}, 1) == Mint(at, [10]byte{}, 1) || Mint(at, [10]byte{8: 1}, 1) == Mint(at, [10]byte{}, 1) {
		t.Error("entropy is lost")
	}
}

// Every cluster stores derived ids, so they must never change.
func TestDerivedIDsAreStable(t *testing.T) {
	for _, x := range []struct {
		marketplace uint16
		vendor      string
		account     string
		wallet      string
	}{
		{1, "vendor-1", "550852ad-c2ee-8742-b8f6-bed560b4cef9", "e98928eb-d81a-8b2c-a5f9-b3aa190cdcf9"},
		{2, "vendor-1", "e8467735-13cc-8c09-b418-27a7a558ede4", "3185f89c-1f8f-8a66-84e5-19182f91ece4"},
		{1, strings.Repeat("ü", 255), "f1452519-6564-85e7-8053-2d3759385f25", "20af8363-45e5-88f9-9d00-afc526d1d525"},
	} {
		account, wallet := AccountOf(x.marketplace, x.vendor), DefaultWalletOf(x.marketplace, x.vendor)
		if account.String() != x.account || wallet.String() != x.wallet {
			t.Errorf("marketplace %d vendor %.10s: account %s wallet %s", x.marketplace, x.vendor, account, wallet)
		}
		if ShardOf(account) != ShardOf(wallet) {
			t.Errorf("account %s and wallet %s are in different shards", account, wallet)
		}
		if account[6]>>4 != 8 || account[8]>>6 != 2 {
			t.Errorf("%s is no UUIDv8", account)
		}
	}
}

func TestTopology(t *testing.T) {
	for _, x := range []struct {
		groups int
		meta   Group
		all    int
	}{{1, 1, 1}, {4, 0, 5}, {256, 0, 257}} {
		topology := Topology{DataGroups: x.groups}
		if topology.Meta() != x.meta {
			t.Errorf("G=%d: meta group %d, want %d", x.groups, topology.Meta(), x.meta)
		}
		groups := topology.Groups()
		if len(groups) != x.all || groups[0] != x.meta {
			t.Errorf("G=%d: groups %v", x.groups, groups)
		}
		carried := map[Group]int{}
		for shard := range Shards {
			carried[topology.GroupOf(Shard(shard))]++
		}
		for _, g := range groups {
			if n := carried[g]; g != 0 && n != Shards/x.groups {
				t.Errorf("G=%d: group %d carries %d shards", x.groups, g, n)
			}
		}
		if carried[0] != 0 {
			t.Errorf("G=%d: the meta group carries %d shards", x.groups, carried[0])
		}
	}
}
