package serving

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/gavel-ads/gavel/shard/event"
)

// hasher makes the keyed hashes under which ids are stored. The state holds no id of a user or an event, only these, and
// nobody without the cluster's secret can make two ids collide or test a guess.
//
// A hash is SHA-256 over secret, purpose, marketplace, array and text, cut short. Cutting it takes away what a plain
// prefix key lacks against HMAC (extending a hash needs the whole of it), at half the cost. The secret never changes and
// is not a token key: rotating those must not let a click charge again.
type hasher struct {
	secret      *[32]byte
	marketplace uint16
	input       []byte // Reused.
}

func (h *hasher) sum(purpose byte, kind event.Kind, text []byte) [sha256.Size]byte {
	h.input = append(h.input[:0], h.secret[:]...)
	h.input = append(h.input, purpose)
	h.input = binary.LittleEndian.AppendUint16(h.input, h.marketplace)
	h.input = append(h.input, byte(kind))
	h.input = append(h.input, text...)
	return sha256.Sum256(h.input)
}

// event is the idempotency key of an event: (marketplace, array, id).
func (h *hasher) event(kind event.Kind, id []byte) [16]byte {
	s := h.sum('e', kind, id)
	return [16]byte(s[:16])
}

// charge is the key under which a token is charged at most once per interaction.
func (h *hasher) charge(interaction event.Kind, token []byte) [16]byte {
	s := h.sum('c', interaction, token)
	return [16]byte(s[:16])
}

// user is the key of a user, never 0, which stands for none.
func (h *hasher) user(id []byte) uint64 {
	s := h.sum('u', 0, id)
	return max(1, binary.LittleEndian.Uint64(s[:8]))
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// UserHash is the key of a user in a marketplace: what events, auctions and segments know of an opaqueUserId. secret is
// command.Secrets.Duplicate.
func UserHash(secret *[32]byte, marketplace uint16, id []byte) uint64 {
	h := hasher{secret: secret, marketplace: marketplace}
	return h.user(id)
}
