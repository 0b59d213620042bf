package store

import (
	"context"

	"github.com/gavel-ads/gavel/node/background"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
)

// stepped is a Reader whose reads are steps of background work: it pauses between them for auctions, and when the work is
// stopped its scans end early. Then what was read is a part, and err says so.
type stepped struct {
	shard.Reader
	ctx  context.Context //nolint:containedctx // Of one call of readLong.
	work *background.Work
	err  error
}

func (s *stepped) step() bool {
	if s.err == nil {
		s.err = s.work.Step(s.ctx)
	}
	return s.err == nil
}

// Get reads a key. It succeeds also after the end: what a record names must be found.
func (s *stepped) Get(key []byte) (value []byte, found bool) {
	s.step()
	return s.Reader.Get(key)
}

// Scan reads a range as long as the work goes on.
func (s *stepped) Scan(from, to []byte, fn func(key, value []byte) bool) {
	if s.step() {
		s.Reader.Scan(from, to, func(key, value []byte) bool { return s.step() && fn(key, value) })
	}
}

// longBooks are the books of a group for reads that take long. ended is asked in loops over what was read before.
type longBooks struct {
	shard.Books
	reader *stepped
}

func (b *longBooks) ended() bool { return !b.reader.step() }

// readLong asks one group's books in slices. The answer counts only without an error.
func (t Tenant) readLong(ctx context.Context, g ids.Group, ask func(*longBooks)) error {
	stopped, err := read(t, g, func(b shard.Books) error {
		s := &stepped{Reader: b.R, ctx: ctx, work: background.Of(ctx)}
		ask(&longBooks{shard.Books{R: s}, s})
		return s.err
	})
	if stopped != nil {
		return stopped
	}
	return err
}

// allGroups asks every group, one after the other.
func (t Tenant) allGroups(ctx context.Context, ask func(*longBooks)) error {
	for _, g := range t.store.Groups.Groups() {
		if err := t.readLong(ctx, g, ask); err != nil {
			return err
		}
	}
	return nil
}
