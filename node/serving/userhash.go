package serving

// UserHasher returns the function by which the users of a marketplace are known in events, auctions and segments: their
// keyed hash, never 0. It is not safe for concurrent use.
func UserHasher(secret [32]byte, marketplace uint16) func(opaqueUserID []byte) uint64 {
	h := hasher{secret: &secret, marketplace: marketplace}
	return h.user
}
