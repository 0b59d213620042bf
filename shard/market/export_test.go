package market

// NewWithHash returns a market whose tables use the given hash, for tests with bad hashes.
func NewWithHash(hash func(seed uint64, text []byte) uint64) *Market { return newMarket(1, hash) }
