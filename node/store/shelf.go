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

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// shelf is how the things of one resource lie in the records of the meta group: each in a place, by which a list finds
// the newest first, and an index that leads to the place from the id and from the unique name.
//
// INVARIANT: a thing and its two index entries are written and deleted by one command, so that an id or a name leads to
// at most one thing, and no thing is lost to the index.
type shelf[T any] struct {
	things, index command.RecordKind
	label         func(*T) label
}

// label is what a thing is found by.
type label struct {
	id            ids.UUID
	createdMillis int64
	name          string // Unique within the marketplace, as it is compared.
}

func (l label) place() string { return placeOf(l.createdMillis, l.id) }

// placeOf puts later times first.
func placeOf(createdMillis int64, id ids.UUID) string {
	return fmt.Sprintf("%016x", math.MaxInt64-createdMillis) + id.String()
}

// mintRow makes the ids of things that are made together: ascending, so that lists keep the order of the request.
func (t Tenant) mintRow(ctx context.Context, n int) []ids.UUID {
	row := make([]ids.UUID, n)
	for i := range row {
		row[i] = t.mint(ctx, 0)
	}
	slices.SortFunc(row, func(a, b ids.UUID) int { return bytes.Compare(a[:], b[:]) })
	return row
}

// Index keys. A name may be as long as an id of a record, so its hash stands for it.
func keyOfID(id ids.UUID) string { return "i" + id.String() }

func keyOfName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "n" + hex.EncodeToString(sum[:])
}

// shelved is a thing with the versions that were read: its own, and that of the index entry that led to it.
type shelved[T any] struct {
	thing   T
	version uint64
	index   uint64
}

// look follows the index from a key.
func (s shelf[T]) look(b shard.Books, t Tenant, key string) (shelved[T], bool) {
	entry, ok := b.Record(s.index, t.marketplace, key)
	if !ok {
		return shelved[T]{}, false
	}
	r, ok := b.Record(s.things, t.marketplace, string(entry.Value))
	if !ok {
		panic("store: an index entry leads nowhere, though both are written by one command")
	}
	return shelved[T]{decoded[T](r.Value), r.Version, entry.Version}, true
}

// find is look for a caller outside a read; ErrNotFound when the key leads nowhere.
func (s shelf[T]) find(t Tenant, key string) (shelved[T], error) {
	return one(t, t.store.Groups.Meta(), func(b shard.Books) (shelved[T], bool) { return s.look(b, t, key) })
}

// scanStep is how many records are read at once while a list skips what its filter leaves out.
const scanStep = 100

// list returns a page of the things that a filter keeps, newest first. Page.After is the place of the last one before.
func (s shelf[T]) list(t Tenant, p Page, keep func(*T) bool) ([]T, bool, error) {
	got, err := read(t, t.store.Groups.Meta(), func(b shard.Books) (out page[T]) {
		for after := p.After; ; {
			records, more := b.Records(s.things, t.marketplace, after, scanStep)
			for i := range records {
				after = records[i].ID
				thing := decoded[T](records[i].Value)
				if !keep(&thing) {
					continue
				}
				if out.more = len(out.items) == p.Limit; out.more {
					return out
				}
				out.items = append(out.items, thing)
			}
			if !more {
				return out
			}
		}
	})
	return got.items, got.more, err
}

// record is the record of a thing that replaces a version, 0 for a new one.
func (s shelf[T]) record(t Tenant, thing *T, version uint64) command.Record {
	return command.Record{Kind: s.things, Marketplace: t.marketplace, ID: s.label(thing).place(), Value: encoded(thing), Expect: version}
}

// entry is an index entry to a thing. expect is 0 where the key must be free.
func (s shelf[T]) entry(t Tenant, key string, thing *T, expect uint64) command.Record {
	return command.Record{Kind: s.index, Marketplace: t.marketplace, ID: key, Value: []byte(s.label(thing).place()), Expect: expect}
}

// recordsOfNew are the three records of a new thing.
func (s shelf[T]) recordsOfNew(t Tenant, thing *T) []command.Record {
	l := s.label(thing)
	return []command.Record{s.record(t, thing, 0), s.entry(t, keyOfID(l.id), thing, 0), s.entry(t, keyOfName(l.name), thing, 0)}
}

// add stores new things with further records, all or nothing. ErrAlreadyExists when a name is taken. A repeat under the
// same idempotency key, and so with the same ids, is answered with what the first time stored.
func (s shelf[T]) add(ctx context.Context, t Tenant, things []T, more ...command.Record) ([]T, error) {
	return s.addWithin(ctx, t, 0, things, more...)
}

// addWithin is add where the marketplace may have at most so many things; 0: any number. ErrTooMany beyond it.
func (s shelf[T]) addWithin(ctx context.Context, t Tenant, most int, things []T, more ...command.Record) ([]T, error) {
	records := slices.Clone(more)
	for i := range things {
		fresh := s.recordsOfNew(t, &things[i])
		fresh[0].Max = most
		records = append(records, fresh...)
	}
	err := t.putRecords(ctx, records)
	if !errors.Is(err, ErrAlreadyExists) {
		return things, err
	}
	stored := make([]T, len(things))
	for i := range things {
		at, missing := s.find(t, keyOfID(s.label(&things[i]).id))
		if missing != nil {
			return nil, err
		}
		stored[i] = at.thing
	}
	return stored, nil
}

// change rewrites the thing that a key leads to. A change of the name moves the index entry with it; ErrAlreadyExists
// when the new name is taken. fn may run several times.
func (s shelf[T]) change(ctx context.Context, t Tenant, key string, fn func(*T)) (T, error) {
	return s.alter(ctx, t, key, func(x *T) ([]command.Record, error) {
		fn(x)
		return nil, nil
	})
}

// alter is change for a change that may be refused, and that writes further records in the same command.
func (s shelf[T]) alter(ctx context.Context, t Tenant, key string, fn func(*T) ([]command.Record, error)) (T, error) {
	var thing T
	err := t.retry(ctx, func() ([]command.Record, error) {
		at, err := s.find(t, key)
		if err != nil {
			return nil, err
		}
		before := s.label(&at.thing).name
		thing = at.thing
		more, err := fn(&thing)
		if err != nil {
			return nil, err
		}
		records := append(slices.Clip(more), s.record(t, &thing, at.version))
		if after := s.label(&thing).name; after != before {
			records = append(records, s.gone(t, s.index, keyOfName(before)), s.entry(t, keyOfName(after), &thing, 0))
		}
		return records, nil
	}, command.NotFound)
	return thing, err
}

// remove deletes the thing that an id leads to, with its index entries.
func (s shelf[T]) remove(ctx context.Context, t Tenant, id ids.UUID) error {
	return s.removeIf(ctx, t, id, func(*T) error { return nil })
}

// removeIf is remove for a thing that may have to stay. allowed may run several times.
func (s shelf[T]) removeIf(ctx context.Context, t Tenant, id ids.UUID, allowed func(*T) error) error {
	return t.retry(ctx, func() ([]command.Record, error) {
		at, err := s.find(t, keyOfID(id))
		if err != nil {
			return nil, err
		}
		if err := allowed(&at.thing); err != nil {
			return nil, err
		}
		l := s.label(&at.thing)
		thing := s.gone(t, s.things, l.place())
		thing.Expect = at.version
		records := []command.Record{thing, s.gone(t, s.index, keyOfID(id))}
		if named, err := s.find(t, keyOfName(l.name)); err == nil && s.label(&named.thing).id == id {
			name := s.gone(t, s.index, keyOfName(l.name))
			name.Expect = named.index
			records = append(records, name)
		}
		return records, nil
	}, command.NotFound)
}

func (s shelf[T]) gone(t Tenant, kind command.RecordKind, key string) command.Record {
	return command.Record{Kind: kind, Marketplace: t.marketplace, ID: key, Expect: command.Any}
}

// retry writes the records that build makes from what it reads, and starts again when they changed in between: always
// after a conflict of versions, and after the other refusals that only a change in between can cause.
func (t Tenant) retry(ctx context.Context, build func() ([]command.Record, error), stale ...command.Refusal) error {
	for range attempts {
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

func encoded[T any](thing *T) []byte {
	text, err := json.Marshal(thing)
	if err != nil {
		panic("store: a plain struct of texts and numbers does not become JSON: " + err.Error())
	}
	return text
}

func decoded[T any](text []byte) (thing T) {
	if err := json.Unmarshal(text, &thing); err != nil {
		panic("store: a stored record is not JSON: " + err.Error())
	}
	return thing
}
