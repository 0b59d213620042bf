// Package ids holds the typed identifiers of the engine, and the two pure functions that map them: from an id to its
// virtual shard, and from a shard to the Raft group that carries it.
//
// An id created by Gavel is a UUIDv7 whose last byte is its shard. The last byte belongs to the random part of the id,
// so time order, version and variant bits are unchanged. A vendor's account id is derived from the marketplace and the
// vendor's own id, so the vendor's shard is known without a look-up, and two nodes that see a new vendor at the same
// time agree on it. All wallets and campaigns of the vendor get ids in that shard.
package ids

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// Shards is the number of virtual shards. It never changes, because every id contains its shard.
const Shards = 256

// Shard is a virtual shard, 0 to 255.
type Shard uint8

// UUID is a 128-bit identifier in RFC 9562 byte order.
type UUID [16]byte

// TextLen is the length of the text form of a UUID.
const TextLen = 36

// ErrNotUUID is returned by Parse for text that is not a UUID in the 8-4-4-4-12 form.
var ErrNotUUID = errors.New("not a UUID")

// ShardOf returns the shard of an id.
func ShardOf(id UUID) Shard { return Shard(id[15]) }

// IsZero reports whether the id is unset.
func (u UUID) IsZero() bool { return u == UUID{} }

// AppendText appends the 36-character lower-case form of the id.
func (u UUID) AppendText(dst []byte) []byte {
	for i, from := range [...]int{0, 4, 6, 8, 10} {
		if i > 0 {
			dst = append(dst, '-')
		}
		to := 16
		if i < 4 {
			to = [...]int{4, 6, 8, 10}[i]
		}
		dst = hex.AppendEncode(dst, u[from:to])
	}
	return dst
}

// String returns the 36-character lower-case form of the id.
func (u UUID) String() string { return string(u.AppendText(make([]byte, 0, TextLen))) }

// Parse reads the 8-4-4-4-12 form in either case. It returns ErrNotUUID for any other text, also with braces or a urn
// prefix.
func Parse(text string) (UUID, error) {
	var u UUID
	if len(text) != TextLen || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return UUID{}, ErrNotUUID
	}
	hexed := text[0:8] + text[9:13] + text[14:18] + text[19:23] + text[24:36]
	if _, err := hex.Decode(u[:], []byte(hexed)); err != nil {
		return UUID{}, ErrNotUUID
	}
	return u, nil
}

// Mint returns a UUIDv7 of the given time (Unix milliseconds, at least 0) in the given shard. The caller supplies the
// entropy, so that the engine has no source of randomness.
func Mint(unixMillis int64, entropy [10]byte, shard Shard) UUID {
	var u UUID
	var t [8]byte
	binary.BigEndian.PutUint64(t[:], uint64(unixMillis)<<16) // Times are after 1970.
	copy(u[:6], t[:6])
	copy(u[6:], entropy[:])
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	u[15] = byte(shard)
	return u
}

// AccountOf returns the id of a vendor's account: a UUIDv8 derived from the marketplace's ordinal and the vendor's id.
func AccountOf(marketplace uint16, vendorID string) UUID { return derive('a', marketplace, vendorID) }

// DefaultWalletOf returns the id of the wallet that every account has from the start. It is in the account's shard.
func DefaultWalletOf(marketplace uint16, vendorID string) UUID {
	u := derive('w', marketplace, vendorID)
	u[15] = byte(ShardOf(AccountOf(marketplace, vendorID)))
	return u
}

// LedgerAccountOf returns the id of a ledger account: a UUIDv8 derived from the marketplace's ordinal and the account's
// name.
func LedgerAccountOf(marketplace uint16, name string) UUID { return derive('l', marketplace, name) }

func derive(kind byte, marketplace uint16, text string) UUID {
	b := make([]byte, 0, 300)
	b = append(b, "gavel/id/"...)
	b = append(b, kind, byte(marketplace>>8), byte(marketplace))
	b = append(b, text...)
	return hashed(sha256.Sum256(b))
}

// Derive returns the id for a seed and a number in a shard, a UUIDv8. A request that is repeated with the same seed
// creates objects with the same ids.
func Derive(seed [32]byte, number uint32, shard Shard) UUID {
	b := append([]byte("gavel/id/d"), seed[:]...)
	u := hashed(sha256.Sum256(binary.BigEndian.AppendUint32(b, number)))
	u[15] = byte(shard)
	return u
}

func hashed(sum [sha256.Size]byte) UUID {
	u := UUID(sum[:16])
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return u
}

// Group is the number of a Raft group, as messages and keys contain it. 0 is the meta group; the data groups are 1 +
// shard mod G.
type Group uint16

// CarriesCampaigns reports whether the group carries campaigns, wallets and events. Group 0 does not.
func (g Group) CarriesCampaigns() bool { return g != 0 }

// Topology maps shards to Raft groups. It is written at bootstrap and never changes.
type Topology struct {
	// DataGroups is G, the number of data groups, 1 to 256.
	DataGroups int
}

// GroupOf returns the data group that carries a shard.
func (t Topology) GroupOf(s Shard) Group { return Group(1 + int(s)%t.DataGroups) } // At most 256.

// Meta returns the group that carries marketplaces, keys and the catalog. With one data group, that group is also the
// meta group.
func (t Topology) Meta() Group {
	if t.DataGroups == 1 {
		return 1
	}
	return 0
}

// Groups lists every group of the topology, the meta group first.
func (t Topology) Groups() []Group {
	all := []Group{t.Meta()}
	for g := Group(1); int(g) <= t.DataGroups; g++ {
		if g != t.Meta() {
			all = append(all, g)
		}
	}
	return all
}
