package store

import (
	"context"
	"crypto/rand"
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/ids"
)

// WithIdempotencyKey derives the ids of everything that is created or booked under the context from the seed. A repeat with the
// same seed gets the same ids, so the state machine recognizes it. The seed must be unguessable or bound to its caller.
func WithIdempotencyKey(ctx context.Context, seed [32]byte) context.Context {
	return context.WithValue(ctx, idSequenceKey{}, &idSequence{seed: seed})
}

type idSequenceKey struct{}

// idSequence derives the ids of one request, in the order in which it asks for them.
type idSequence struct {
	seed [32]byte
	next atomic.Uint32
}

// mint makes an id in a shard: a random one, or the next that follows from the request's idempotency key.
func (t Tenant) mint(ctx context.Context, s ids.Shard) ids.UUID {
	if n, ok := ctx.Value(idSequenceKey{}).(*idSequence); ok {
		return ids.Derive(n.seed, n.next.Add(1), s)
	}
	var entropy [10]byte
	_, _ = rand.Read(entropy[:]) // crypto/rand never returns an error.
	return ids.Mint(t.now(), entropy, s)
}
