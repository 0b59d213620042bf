package serving

import "github.com/gavel-ads/gavel/shard/event"

// EventKey returns the key under which an event of a marketplace is stored, by the id that the client gave it.
func EventKey(secret [32]byte, marketplace uint16, kind event.Kind, id string) [16]byte {
	h := hasher{secret: &secret, marketplace: marketplace}
	return h.event(kind, []byte(id))
}

// UserHasher returns a function that hashes an opaqueUserId of a marketplace as UserHash does, without allocating. The
// function is not safe for concurrent use.
func UserHasher(secret [32]byte, marketplace uint16) func(opaqueUserID []byte) uint64 {
	h := hasher{secret: &secret, marketplace: marketplace}
	return h.user
}
