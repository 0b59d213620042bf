package resource

import (
	"context"

	"github.com/gavel-ads/gavel/node/store"
)

// Collection serves the items of a store.Collection: T is an item as it is stored, A as it is answered. Its methods do what
// is the same in the operations of all resources; what an operation checks itself stays in its function.
type Collection[T, A any] struct {
	Items store.Collection[T]
	// Answer converts an item. Its errors are answered as they are.
	Answer func(ctx context.Context, x *T) (A, error)
}

// Output is the answer of an operation about one item.
type Output[A any] struct{ Body A }

// Query says which page of a list is wanted.
type Query[T any] struct {
	Operation string // Id of the operation, to which the cursors are bound, as they are to Filters.
	Limit     int    // 0 asks whether there are items.
	NextPage  string
	Keep      func(*T) bool // Selects items; nil keeps all.
	Filters   []string      // The texts of the query parameters behind Keep.
}

// Create stores a new item.
func (c Collection[T, A]) Create(ctx context.Context, x *T) (*Output[A], error) {
	return c.output(ctx, x, c.Items.Create(ctx, Tenant(ctx), x))
}

// Get reads an item. REQUIRES: the kit has checked that id is a UUID.
func (c Collection[T, A]) Get(ctx context.Context, id string) (*Output[A], error) {
	x, err := c.Items.Get(Tenant(ctx), ParseUUID(id))
	return c.output(ctx, &x, err)
}

// Change changes an item. change may run several times and may refuse; then nothing is written.
func (c Collection[T, A]) Change(ctx context.Context, id string, change func(*T) error) (*Output[A], error) {
	x, err := c.Items.Change(ctx, Tenant(ctx), ParseUUID(id), change)
	return c.output(ctx, &x, err)
}

// Delete deletes an item.
func (c Collection[T, A]) Delete(ctx context.Context, id string) (*struct{}, error) {
	return nil, ErrorOf(c.Items.Delete(ctx, Tenant(ctx), ParseUUID(id)))
}

// List returns a page of the items, newest first.
func (c Collection[T, A]) List(ctx context.Context, q Query[T]) ([]A, Page, error) {
	st := Tenant(ctx)
	cursors := CursorsFor(ctx, st.CursorKey(), q.Operation, q.Filters...)
	page, end, err := ListOrPeek(cursors, q.NextPage, q.Limit, c.Items.Position, func(p store.Page) ([]T, bool, error) {
		return c.Items.List(st, p, q.Keep)
	})
	if err != nil {
		return nil, Page{}, ErrorOf(err)
	}
	all := make([]A, len(page))
	for i := range page {
		if all[i], err = c.Answer(ctx, &page[i]); err != nil {
			return nil, Page{}, err
		}
	}
	return all, end, nil
}

// output is the answer about an item, unless an error was returned with it.
func (c Collection[T, A]) output(ctx context.Context, x *T, err error) (*Output[A], error) {
	if err != nil {
		return nil, ErrorOf(err)
	}
	a, err := c.Answer(ctx, x)
	if err != nil {
		return nil, err
	}
	return &Output[A]{a}, nil
}
