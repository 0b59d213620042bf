package serving

// UserHasher returns a function that hashes an opaqueUserId of a marketplace as UserHash does, without allocating. The
// function is not safe for concurrent use.
func UserHasher(secret [32]byte, marketplace uint16) func(opaqueUserID []byte) uint64 {
	h := hasher{secret: &secret, marketplace: marketplace}
	return h.user
}
