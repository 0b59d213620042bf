package sinks

import (
	"context"
	"time"
)

// LimitBatch replaces batchMax, so that a few messages make several batches.
func (s *Sink) LimitBatch(n int) { s.limit = n }

// Add adds a message to the batch of a follower.
func (f *Follower) Add(ctx context.Context, m Message) error { return f.add(ctx, m) }

// BackOff is backOff.
func BackOff(failures int, random float64) time.Duration { return backOff(failures, random) }

// Bounds for the tests.
const (
	BatchBytesMax = batchBytesMax
	RoundBatches  = roundBatches
)
