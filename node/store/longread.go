package store

import (
	"context"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
)

// pausingReader is a Reader for background work: before each read it pauses while auctions need the processor. When the work is
// stopped its scans end early; then what was read is incomplete, and err is set.
type pausingReader struct {
	shard.Reader
	ctx  context.Context //nolint:containedctx // The context of one call of readInSteps.
	work *limits.Work
	err  error
}

func (s *pausingReader) step() bool {
	if s.err == nil {
		s.err = s.work.Step(s.ctx)
	}
	return s.err == nil
}

// Get reads a key. It succeeds even after the work was stopped, because callers rely on finding what a record names.
func (s *pausingReader) Get(key []byte) (value []byte, found bool) {
	s.step()
	return s.Reader.Get(key)
}

// Scan calls fn for the keys of a range until fn returns false or the work is stopped.
func (s *pausingReader) Scan(from, to []byte, fn func(key, value []byte) bool) {
	if s.step() {
		s.Reader.Scan(from, to, func(key, value []byte) bool { return s.step() && fn(key, value) })
	}
}

// longState is the state of a group for reads that take long. Loops over what was read before call stopped.
type longState struct {
	shard.Queries
	reader *pausingReader
}

func (b *longState) stopped() bool { return !b.reader.step() }

// readInSteps reads one group's state as background work. What ask has read counts only if there is no error.
func (t Tenant) readInSteps(ctx context.Context, g ids.Group, ask func(*longState)) error {
	stopped, err := read(t, g, func(b shard.Queries) error {
		s := &pausingReader{Reader: b.R, ctx: ctx, work: limits.WorkOf(ctx)}
		ask(&longState{shard.Queries{R: s}, s})
		return s.err
	})
	if stopped != nil {
		return stopped
	}
	return err
}

// allGroups reads every group, one after the other.
func (t Tenant) allGroups(ctx context.Context, ask func(*longState)) error {
	for _, g := range t.store.Groups.Groups() {
		if err := t.readInSteps(ctx, g, ask); err != nil {
			return err
		}
	}
	return nil
}
