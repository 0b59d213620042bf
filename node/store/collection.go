package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// collection stores the items of one resource in the records of the meta group. Each item lies at a position that makes a scan
// return the newest first. Index records lead to the position from the id and from the unique name.
//
// INVARIANT: an item and its two index records are written and deleted by one command, so an id or a name leads to at most
// one item, and every item can be found by both.
type collection[T any] struct {
	itemKind, indexKind command.RecordKind
	// name begins the id of every record and is the class in which the items are counted, because plain resources share two
	// kinds. It is empty for a resource with kinds of its own.
	name string
	key  func(*T) itemKey
}

// recordID is the id of the record that has a position or key within the collection.
func (s collection[T]) recordID(key string) string {
	if s.name == "" {
		return key
	}
	return s.name + "/" + key
}

// itemKey is what an item is found by.
type itemKey struct {
	id            ids.UUID
	createdMillis int64
	name          string // In the form in which names are compared; unique within the marketplace.
}

func (l itemKey) position() string { return positionOf(l.createdMillis, l.id) }

// positionOf is the key of an item's record. Later times sort first.
func positionOf(createdMillis int64, id ids.UUID) string {
	return fmt.Sprintf("%016x", math.MaxInt64-createdMillis) + id.String()
}

// mintSorted makes the ids of items that are created together. They ascend, so that lists keep the order of the request.
func (t Tenant) mintSorted(ctx context.Context, n int) []ids.UUID {
	row := make([]ids.UUID, n)
	for i := range row {
		row[i] = t.mint(ctx, 0)
	}
	slices.SortFunc(row, func(a, b ids.UUID) int { return bytes.Compare(a[:], b[:]) })
	return row
}

// keyOfID and keyOfName are the keys of index records. A name may be as long as a record's id may be, so its hash is used.
func keyOfID(id ids.UUID) string { return "i" + id.String() }

func keyOfName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "n" + hex.EncodeToString(sum[:])
}

// versioned is an item with the versions that were read: its own, and that of the index record that led to it.
type versioned[T any] struct {
	item         T
	version      uint64
	indexVersion uint64
}

// lookup follows the index from a key. It reports false when no index record has the key.
func (s collection[T]) lookup(b shard.Queries, t Tenant, key string) (versioned[T], bool) {
	entry, ok := b.Record(s.indexKind, t.marketplace, s.recordID(key))
	if !ok {
		return versioned[T]{}, false
	}
	r, ok := b.Record(s.itemKind, t.marketplace, string(entry.Value))
	if !ok {
		panic("store: an index record names an item that does not exist, although one command writes both")
	}
	return versioned[T]{decoded[T](r.Value), r.Version, entry.Version}, true
}

// find is lookup for a caller outside of a read. It returns ErrNotFound when no item has the key.
func (s collection[T]) find(t Tenant, key string) (versioned[T], error) {
	return readOne(t, t.store.Groups.Meta(), func(b shard.Queries) (versioned[T], bool) { return s.lookup(b, t, key) })
}

// scanStep is how many records are read at once while a list skips what its filter excludes.
const scanStep = 100

// list returns a page of the items for which keep returns true, newest first. Page.After is the position of the previous
// page's last item.
func (s collection[T]) list(t Tenant, p Page, keep func(*T) bool) ([]T, bool, error) {
	got, err := read(t, t.store.Groups.Meta(), func(b shard.Queries) (out page[T]) {
		for after := s.recordID(p.After); ; {
			records, more := b.Records(s.itemKind, t.marketplace, after, scanStep)
			for i := range records {
				if after = records[i].ID; !strings.HasPrefix(after, s.recordID("")) {
					return out // The next resource of the kind.
				}
				item := decoded[T](records[i].Value)
				if !keep(&item) {
					continue
				}
				if out.more = len(out.items) == p.Limit; out.more {
					return out
				}
				out.items = append(out.items, item)
			}
			if !more {
				return out
			}
		}
	})
	return got.items, got.more, err
}

// record is the record of an item that replaces the given version. Version 0 means that the record must not exist yet.
func (s collection[T]) record(t Tenant, item *T, version uint64) command.Record {
	return command.Record{Kind: s.itemKind, Marketplace: t.marketplace, ID: s.recordID(s.key(item).position()), Value: encoded(item), Expect: version, Class: s.name}
}

// indexEntry is an index record that leads to an item. expect is the version that it replaces; 0 means that the key must be free.
func (s collection[T]) indexEntry(t Tenant, key string, item *T, expect uint64) command.Record {
	return command.Record{Kind: s.indexKind, Marketplace: t.marketplace, ID: s.recordID(key), Value: []byte(s.recordID(s.key(item).position())), Expect: expect}
}

// newRecords are the three records of a new item: the item itself, at index 0, and its two index records.
func (s collection[T]) newRecords(t Tenant, item *T) []command.Record {
	l := s.key(item)
	return []command.Record{s.record(t, item, 0), s.indexEntry(t, keyOfID(l.id), item, 0), s.indexEntry(t, keyOfName(l.name), item, 0)}
}

// add stores new items together with further records, all or nothing. ErrAlreadyExists means that a name is taken. A repeat
// under the same idempotency key, and so with the same ids, returns what the first request stored.
func (s collection[T]) add(ctx context.Context, t Tenant, items []T, more ...command.Record) ([]T, error) {
	return s.addWithin(ctx, t, 0, items, more...)
}

// addWithin is add for a marketplace that may have at most that many items; 0 means any number. Beyond it, ErrTooMany.
func (s collection[T]) addWithin(ctx context.Context, t Tenant, most int, items []T, more ...command.Record) ([]T, error) {
	records := slices.Clone(more)
	for i := range items {
		fresh := s.newRecords(t, &items[i])
		fresh[0].Max = most
		records = append(records, fresh...)
	}
	err := t.putRecords(ctx, records)
	if !errors.Is(err, ErrAlreadyExists) {
		return items, err
	}
	stored := make([]T, len(items))
	for i := range items {
		at, missing := s.find(t, keyOfID(s.key(&items[i]).id))
		if missing != nil {
			return nil, err
		}
		stored[i] = at.item
	}
	markRepeated(ctx)
	return stored, nil
}

// change rewrites the item that a key leads to. A change of the name moves the index record with it; ErrAlreadyExists means that
// the new name is taken. fn may run several times.
func (s collection[T]) change(ctx context.Context, t Tenant, key string, fn func(*T)) (T, error) {
	return s.update(ctx, t, key, func(x *T) ([]command.Record, error) {
		fn(x)
		return nil, nil
	})
}

// update is change with an fn that may refuse, by an error, and that may add further records to the same command.
func (s collection[T]) update(ctx context.Context, t Tenant, key string, fn func(*T) ([]command.Record, error)) (T, error) {
	var item T
	err := t.retry(ctx, func() ([]command.Record, error) {
		at, err := s.find(t, key)
		if err != nil {
			return nil, err
		}
		before := s.key(&at.item).name
		item = at.item
		more, err := fn(&item)
		if err != nil {
			return nil, err
		}
		records := append(slices.Clip(more), s.record(t, &item, at.version))
		if after := s.key(&item).name; after != before {
			records = append(records, s.deletion(t, s.indexKind, keyOfName(before)), s.indexEntry(t, keyOfName(after), &item, 0))
		}
		return records, nil
	}, command.NotFound)
	return item, err
}

// remove deletes the item with an id, and its index records. ErrNotFound when no item has the id.
func (s collection[T]) remove(ctx context.Context, t Tenant, id ids.UUID) error {
	return s.removeIf(ctx, t, id, func(*T) error { return nil })
}

// removeIf is remove for an item that may have to stay: an error of allowed is returned and nothing is deleted. allowed may
// run several times.
func (s collection[T]) removeIf(ctx context.Context, t Tenant, id ids.UUID, allowed func(*T) error) error {
	return t.retry(ctx, func() ([]command.Record, error) {
		at, err := s.find(t, keyOfID(id))
		if err != nil {
			return nil, err
		}
		if err := allowed(&at.item); err != nil {
			return nil, err
		}
		l := s.key(&at.item)
		item := s.deletion(t, s.itemKind, l.position())
		item.Expect = at.version
		records := []command.Record{item, s.deletion(t, s.indexKind, keyOfID(id))}
		if named, err := s.find(t, keyOfName(l.name)); err == nil && s.key(&named.item).id == id {
			name := s.deletion(t, s.indexKind, keyOfName(l.name))
			name.Expect = named.indexVersion
			records = append(records, name)
		}
		return records, nil
	}, command.NotFound)
}

// deletion is the record that deletes whatever has the key.
func (s collection[T]) deletion(t Tenant, kind command.RecordKind, key string) command.Record {
	return command.Record{Kind: kind, Marketplace: t.marketplace, ID: s.recordID(key), Expect: command.Any}
}

// retry writes the records that build makes from what it reads. It starts again when they changed in between: after a version
// conflict always, and after those other refusals that the caller names as possible only because of a change in between.
// It returns ErrChanged after maxAttempts.
func (t Tenant) retry(ctx context.Context, build func() ([]command.Record, error), stale ...command.Refusal) error {
	for range maxAttempts {
		records, err := build()
		if err != nil || len(records) == 0 {
			return err
		}
		r, err := t.proposeRecords(ctx, records)
		if r.Refusal != command.Conflict && !slices.Contains(stale, r.Refusal) || r.Refusal == command.Done {
			return err
		}
	}
	return ErrChanged
}

func encoded[T any](item *T) []byte {
	text, err := json.Marshal(item)
	if err != nil {
		panic("store: a stored struct cannot be encoded as JSON: " + err.Error())
	}
	return text
}

func decoded[T any](text []byte) (item T) {
	if err := json.Unmarshal(text, &item); err != nil {
		panic("store: a stored record is not JSON: " + err.Error())
	}
	return item
}
