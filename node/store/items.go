package store

import (
	"context"
	"reflect"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Item is what every item of a Collection has. The types of items embed it.
type Item struct {
	ID            ids.UUID
	CreatedMillis int64
	UpdatedMillis int64
}

// ListPosition is the item's position in lists.
func (x *Item) ListPosition() string { return positionOf(x.CreatedMillis, x.ID) }

func (x *Item) embedded() *Item { return x }

type itemPointer[T any] interface {
	*T
	embedded() *Item
}

// Collection is the items of one resource, each with an id, times and a name that is unique in its marketplace. Items are
// stored as JSON: members may be added to T, and are then zero in older items. The value is immutable and may be used
// concurrently.
type Collection[T any] struct {
	in   collection[T]
	item func(*T) *Item
	most int
	// keep completes an item that is created (before is nil) or changed, and returns what the same command writes with it. Nil adds
	// nothing.
	keep func(ctx context.Context, t Tenant, before, x *T) []command.Record
}

// NewCollection returns the collection of a plain resource, whose items only the management API reads. Its name, in plural,
// must be no other resource's and never change, because it is part of what is stored. A marketplace has at most that many
// items. unique returns the name of an item in the form in which names are compared; if it is nil, items have no names.
func NewCollection[T any, P itemPointer[T]](name string, most int, unique func(*T) string) Collection[T] {
	c := newCollection[T, P](command.RecordPlain, command.RecordPlainIndex, unique)
	c.in.name, c.most = name, most
	return c
}

// newCollection is NewCollection for a resource with kinds of its own and without a limit.
func newCollection[T any, P itemPointer[T]](items, index command.RecordKind, unique func(*T) string) Collection[T] {
	item := func(x *T) *Item { return P(x).embedded() }
	return Collection[T]{item: item, in: collection[T]{itemKind: items, indexKind: index, key: func(x *T) itemKey {
		i := item(x)
		name := i.ID.String()
		if unique != nil {
			name = unique(x)
		}
		return itemKey{i.ID, i.CreatedMillis, name}
	}}}
}

// Position is the position of an item in lists.
func (c Collection[T]) Position(x T) string { return c.item(&x).ListPosition() }

// Create stores a new item and fills in its id and times. ErrAlreadyExists when the name is taken, *Limit when the
// marketplace has as many items as it may have.
func (c Collection[T]) Create(ctx context.Context, t Tenant, x *T) error {
	i := c.item(x)
	i.ID, i.CreatedMillis = t.mint(ctx, 0), t.now()
	i.UpdatedMillis = i.CreatedMillis
	var more []command.Record
	if c.keep != nil {
		more = c.keep(ctx, t, nil, x)
	}
	stored, err := c.in.addWithin(ctx, t, c.most, []T{*x}, more...)
	if err != nil {
		return limited(err, c.in.name, c.most)
	}
	*x = stored[0]
	return nil
}

// Get returns an item, or ErrNotFound.
func (c Collection[T]) Get(t Tenant, id ids.UUID) (T, error) {
	at, err := c.in.find(t, keyOfID(id))
	return at.item, err
}

// ByName returns the item with a name, in the form in which names are compared, or ErrNotFound.
func (c Collection[T]) ByName(t Tenant, name string) (T, error) {
	at, err := c.in.find(t, keyOfName(name))
	return at.item, err
}

// List returns a page of the items for which keep returns true, newest first; nil keeps all.
func (c Collection[T]) List(t Tenant, p Page, keep func(*T) bool) ([]T, bool, error) {
	if keep == nil {
		keep = func(*T) bool { return true }
	}
	return c.in.list(t, p, keep)
}

// Change rewrites an item by fn, and returns an error of fn without writing. fn may run several times, on what another change
// left, so it has to check the result itself. If fn changes nothing, the times stay. ErrNotFound, or ErrAlreadyExists when the
// new name is taken.
func (c Collection[T]) Change(ctx context.Context, t Tenant, id ids.UUID, fn func(*T) error) (T, error) {
	return c.in.update(ctx, t, keyOfID(id), func(x *T) ([]command.Record, error) {
		before := *x
		if err := fn(x); err != nil || reflect.DeepEqual(before, *x) {
			return nil, err
		}
		c.item(x).UpdatedMillis = t.now()
		if c.keep == nil {
			return nil, nil
		}
		return c.keep(ctx, t, &before, x), nil
	})
}

// Delete removes an item, or returns ErrNotFound.
func (c Collection[T]) Delete(ctx context.Context, t Tenant, id ids.UUID) error {
	return c.in.remove(ctx, t, id)
}
