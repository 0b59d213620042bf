package serving

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/gavel-ads/gavel/shard/event"
)

// hasher makes the keyed hashes under which ids are stored. The replicated state holds only these hashes and no id of a
// user or an event. Without the cluster's secret nobody can make two ids collide or test a guess.
//
// A hash is SHA-256 over secret, purpose, marketplace, array and text, truncated to half or less. Truncation removes the
// weakness of a key as plain prefix against HMAC, because extending a hash needs all of it, and the cost is half of
// HMAC's. The secret never changes and is not a token key: rotating token keys must not let a click be charged again.
type hasher struct {
	secret      *[32]byte
	marketplace uint16
	input       []byte // The buffer of the hash input, reused.
}

func (h *hasher) sum(purpose byte, kind event.Kind, text []byte) [sha256.Size]byte {
	h.input = append(h.input[:0], h.secret[:]...)
	h.input = append(h.input, purpose)
	h.input = binary.LittleEndian.AppendUint16(h.input, h.marketplace)
	h.input = append(h.input, byte(kind))
	h.input = append(h.input, text...)
	return sha256.Sum256(h.input)
}

// event returns the idempotency key of an event, which depends on marketplace, array and id.
func (h *hasher) event(kind event.Kind, id []byte) [16]byte {
	s := h.sum('e', kind, id)
	return [16]byte(s[:16])
}

// charge returns the key under which a token is charged at most once per interaction.
func (h *hasher) charge(interaction event.Kind, token []byte) [16]byte {
	s := h.sum('c', interaction, token)
	return [16]byte(s[:16])
}

// user returns the hash of a user. It is never 0, because 0 means no user.
func (h *hasher) user(id []byte) uint64 {
	s := h.sum('u', 0, id)
	return max(1, binary.LittleEndian.Uint64(s[:8]))
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
