package store

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/ids"
)

// WithIdempotencyKey derives the ids of everything that is created or booked under the context from the seed. A repeat with the
// same seed gets the same ids, so the state machine recognizes it. The seed must be unguessable or bound to its caller.
func WithIdempotencyKey(ctx context.Context, seed [32]byte) context.Context {
	return context.WithValue(ctx, idSequenceKey{}, &idSequence{seed: seed})
}

// WithSecretSeed derives the texts of the API keys that are created under the context from the seed, so that a repeat gets the
// same keys. The seed must be known to nobody who must not have the keys.
func WithSecretSeed(ctx context.Context, seed [32]byte) context.Context {
	return context.WithValue(ctx, secretSeedKey{}, &idSequence{seed: seed})
}

type secretSeedKey struct{}

// entropyLen is the length in bytes of what one API key is made from, of which it takes about 60.
const entropyLen = 1 << 10

// entropy is what the next API key is made from: random, or what follows from the seed of the request.
func entropy(ctx context.Context) (io.Reader, error) {
	n, ok := ctx.Value(secretSeedKey{}).(*idSequence)
	if !ok {
		return rand.Reader, nil
	}
	text, err := hkdf.Expand(sha256.New, n.seed[:], fmt.Sprint("gavel/api-key/", n.next.Add(1)), entropyLen)
	return bytes.NewReader(text), err
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
