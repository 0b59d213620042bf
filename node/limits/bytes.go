package limits

import "sync"

// Bytes is a budget of bytes that the requests in progress share. It bounds the sum of all leases and the sum of one
// marketplace's leases. It never blocks: a lease that does not fit is refused. It is safe for concurrent use. A nil Bytes
// allows everything.
type Bytes struct {
	max, perMarketplace int64

	mu            sync.Mutex
	used          int64
	byMarketplace map[uint16]int64
	refusals      uint64
}

// BytesStats are the counters of a budget. Refusals only grow.
type BytesStats struct {
	Used, Max int64
	Refusals  uint64
}

// NewBytes returns a budget of most bytes, of which one marketplace may use perMarketplace.
func NewBytes(most, perMarketplace int64) *Bytes {
	return &Bytes{max: most, perMarketplace: perMarketplace, byMarketplace: map[uint16]int64{}}
}

// Stats reads the counters.
func (b *Bytes) Stats() BytesStats {
	if b == nil {
		return BytesStats{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return BytesStats{Used: b.used, Max: b.max, Refusals: b.refusals}
}

func (b *Bytes) tryAcquire(marketplace uint16, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.max || b.byMarketplace[marketplace]+n > b.perMarketplace {
		b.refusals++
		return false
	}
	b.used += n
	b.byMarketplace[marketplace] += n
	return true
}

func (b *Bytes) release(marketplace uint16, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.byMarketplace[marketplace] -= n; b.byMarketplace[marketplace] == 0 {
		delete(b.byMarketplace, marketplace)
	}
}

// Lease is the bytes of a budget that one request uses. The zero Lease belongs to no budget and allows everything.
// REQUIRES: Release is called when the request ends.
type Lease struct {
	of          *Bytes
	marketplace uint16 // The ordinal of a marketplace.
	n           int64
}

// Lease returns a lease of 0 bytes for a marketplace.
func (b *Bytes) Lease(marketplace uint16) Lease { return Lease{of: b, marketplace: marketplace} }

// Grow increases the lease to n bytes, if it is smaller, and reports whether the budget allowed that. If not, the lease is
// unchanged.
func (l *Lease) Grow(n int64) bool {
	if n <= l.n || l.of == nil {
		return true
	}
	if !l.of.tryAcquire(l.marketplace, n-l.n) {
		return false
	}
	l.n = n
	return true
}

// Release returns all bytes of the lease to the budget. It may be called more than once.
func (l *Lease) Release() {
	if l.of != nil && l.n > 0 {
		l.of.release(l.marketplace, l.n)
	}
	l.n = 0
}
