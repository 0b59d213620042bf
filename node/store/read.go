package store

import (
	"context"
	"fmt"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// read calls ask with a consistent state of one group, as new as the tenant's session needs. It returns ErrUnavailable when
// the group cannot be read.
func read[T any](t Tenant, g ids.Group, ask func(shard.Queries) T) (answer T, err error) {
	if err := t.AwaitCurrent(g); err != nil {
		return answer, unreadable(g, err)
	}
	err = t.store.readFor(t.session.context(), g, func(b shard.Queries) { answer = ask(b) })
	return answer, err
}

// readManaged is read for what only management commands change. It does not wait until the changes of events are written.
func readManaged[T any](t Tenant, g ids.Group, ask func(shard.Queries) T) (answer T, err error) {
	err = t.AwaitCurrent(g)
	if err == nil {
		err = t.store.Groups.ReadWritten(g, func(r shard.Reader) error {
			answer = ask(shard.Queries{R: r})
			return nil
		})
	}
	return answer, unreadable(g, err)
}

// readGroup is readFor without a request.
func (s *Store) readGroup(g ids.Group, ask func(shard.Queries)) error {
	return s.readFor(context.Background(), g, ask)
}

// readFor calls ask with a consistent state of one group for the request of a context, or returns ErrUnavailable. Before a state
// can be read, what events have changed since the last write is written. On a busy node that takes milliseconds, and is no part
// of the request's work, so the request gives its turn back until the state is open.
func (s *Store) readFor(ctx context.Context, g ids.Group, ask func(shard.Queries)) error {
	resume := limits.Waiting(ctx)
	defer resume() // When the state could not be opened.
	err := s.Groups.Read(g, func(r shard.Reader) error {
		resume()
		ask(shard.Queries{R: r})
		return nil
	})
	return unreadable(g, err)
}

// unreadable returns ErrUnavailable for a group that could not be read, and nil for no error.
func unreadable(g ids.Group, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: group %d: %w", ErrUnavailable, g, err)
}

// lookupResult is an item and whether it exists.
type lookupResult[T any] struct {
	item T
	ok   bool
}

// readOne reads a single item, or returns ErrNotFound.
func readOne[T any](t Tenant, g ids.Group, ask func(shard.Queries) (T, bool)) (T, error) {
	got, err := read(t, g, func(b shard.Queries) (f lookupResult[T]) {
		f.item, f.ok = ask(b)
		return f
	})
	if err == nil && !got.ok {
		err = ErrNotFound
	}
	return got.item, err
}

// page is a part of a list and whether more follows.
type page[T any] struct {
	items []T
	more  bool
}

// readList reads a page of a list in the meta group. When ids are named it lists those of them that exist.
func readList[T any](t Tenant, p Page, ids []string, byID func(b shard.Queries, id string) (T, bool), all func(shard.Queries) ([]T, bool)) ([]T, bool, error) {
	got, err := read(t, t.store.Groups.Meta(), func(b shard.Queries) (got page[T]) {
		if len(ids) == 0 {
			got.items, got.more = all(b)
			return got
		}
		for _, id := range p.of(ids) {
			item, ok := byID(b, id)
			if ok && len(got.items) == p.Limit {
				got.more = true
				break
			}
			if ok {
				got.items = append(got.items, item)
			}
		}
		return got
	})
	return got.items, got.more, err
}

// record returns the value of a record of this marketplace, or ErrNotFound.
func (t Tenant) record(kind command.RecordKind, id string) ([]byte, error) {
	r, err := readOne(t, t.store.Groups.Meta(), func(b shard.Queries) (shard.StoredRecord, bool) {
		return b.Record(kind, t.marketplace, id)
	})
	return r.Value, err
}
