package limits

import "sync"

// Bytes is a budget of memory that requests under way share: so many bytes in all, and so many of one owner. Nobody waits for
// it: what does not fit is refused. It is safe for concurrent use. A nil Bytes allows everything.
type Bytes struct {
	max, perOwner int64

	mu       sync.Mutex
	used     int64
	owners   map[uint16]int64
	refusals uint64
}

// BytesStats are the counters of a budget. Refusals only grow.
type BytesStats struct {
	Used, Max int64
	Refusals  uint64
}

// NewBytes returns a budget of so many bytes, of which one owner may have perOwner.
func NewBytes(most, perOwner int64) *Bytes {
	return &Bytes{max: most, perOwner: perOwner, owners: map[uint16]int64{}}
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

func (b *Bytes) tryAcquire(owner uint16, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.max || b.owners[owner]+n > b.perOwner {
		b.refusals++
		return false
	}
	b.used += n
	b.owners[owner] += n
	return true
}

func (b *Bytes) release(owner uint16, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.owners[owner] -= n; b.owners[owner] == 0 {
		delete(b.owners, owner)
	}
}

// Lease is what one request has of a budget. The zero Lease has nothing and is of no budget: it allows everything.
// REQUIRES: Release is called when the request ends.
type Lease struct {
	of    *Bytes
	owner uint16 // The number of a marketplace.
	n     int64
}

// Lease begins a lease of an owner, without any bytes.
func (b *Bytes) Lease(owner uint16) Lease { return Lease{of: b, owner: owner} }

// Grow makes the lease n bytes large, if it is smaller, and reports whether the budget allowed it. The lease is unchanged when
// it did not.
func (l *Lease) Grow(n int64) bool {
	if n <= l.n || l.of == nil {
		return true
	}
	if !l.of.tryAcquire(l.owner, n-l.n) {
		return false
	}
	l.n = n
	return true
}

// Release gives everything back.
func (l *Lease) Release() {
	if l.of != nil && l.n > 0 {
		l.of.release(l.owner, l.n)
	}
	l.n = 0
}
