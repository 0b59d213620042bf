package store

import (
	"context"
	"crypto/rand"
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/ids"
)

// WithIdempotencyKey lets everything that is made or booked under the context be named after the seed: repeated with the
// same seed it gets the same ids, and the state machine knows it. The seed must be unguessable or bound to its caller.
func WithIdempotencyKey(ctx context.Context, seed [32]byte) context.Context {
	return context.WithValue(ctx, namesKey{}, &names{seed: seed})
}

type namesKey struct{}

// names hands out the ids of one request, in the order in which it asks.
type names struct {
	seed [32]byte
	next atomic.Uint32
}

// mint makes an id in a shard: a new one, or that of the request's idempotency key.
func (t Tenant) mint(ctx context.Context, s ids.Shard) ids.UUID {
	if n, ok := ctx.Value(namesKey{}).(*names); ok {
		return ids.Derive(n.seed, n.next.Add(1), s)
	}
	var entropy [10]byte
	_, _ = rand.Read(entropy[:]) // Never fails: it ends the process instead.
	return ids.Mint(t.now(), entropy, s)
}
