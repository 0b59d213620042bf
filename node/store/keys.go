package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

// KeysMax is how many active keys of one kind a marketplace may have by default, enough to rotate without a gap, and of the
// first keys of a cluster always. BOUND: KeysListed of both kinds are listed, so no setting allows more.
const (
	KeysMax    = 20
	KeysListed = 2_000
)

// CreateKey creates an API key and returns its text, which is not stored. *Limit when the marketplace has as many as it may have.
// A repeat of a request with an idempotency key (WithSecretSeed) gets the key that the first request created, for a day.
func (t Tenant) CreateKey(ctx context.Context, kind KeyKind, name string, expiresMillis int64) (Key, string, error) {
	from, err := entropy(ctx)
	if err != nil {
		return Key{}, "", err
	}
	made, text, err := t.createKey(ctx, kind, name, expiresMillis, from)
	if !errors.Is(err, ErrAlreadyExists) {
		return made, text, err
	}
	known, err := t.key(made.ID)
	if err != nil || t.now()-known.CreatedMillis < AnswerRetention.Milliseconds() {
		markRepeated(ctx)
		return known, text, err
	}
	return t.createKey(ctx, kind, name, expiresMillis, rand.Reader)
}

// createKey creates an API key from entropy. ErrAlreadyExists, with the key that it would have been, when its id is taken.
func (t Tenant) createKey(ctx context.Context, kind KeyKind, name string, expiresMillis int64, from io.Reader) (Key, string, error) {
	made, err := auth.Generate(kind.auth(), from)
	if err != nil {
		return Key{}, "", err
	}
	record := made.Record(name, t.marketplace, t.now(), expiresMillis)
	stored := KeyRecord(&record)
	stored.Max = t.store.Limits.Keys
	err = t.putRecords(ctx, []command.Record{stored})
	return keyOf(&record), made.String(), limited(err, "active keys of a kind", stored.Max)
}

// RotateKey creates a key of the kind and with the name of another, which ends after a time, or when it would end anyway. Both is one
// command. ErrNotFound for an unknown key, ErrWrongState for one that has ended, ErrChanged when somebody else changed it at the same
// time, *Limit when the marketplace has as many active keys of the kind as it may have. A repeat of a request with an idempotency key
// gets the key that the first request created, for a day.
func (t Tenant) RotateKey(ctx context.Context, id string, overlapMillis, expiresMillis int64) (made Key, text string, err error) {
	stored, err := readOne(t, t.store.Groups.Meta(), func(b shard.Queries) (shard.StoredRecord, bool) {
		return b.Record(command.RecordAPIKey, t.marketplace, id)
	})
	if err != nil {
		return Key{}, "", err
	}
	old, err := auth.ReadRecord(stored.Value)
	if err != nil {
		return Key{}, "", fmt.Errorf("key %s: %w", id, err)
	}
	from, err := entropy(ctx)
	if err != nil {
		return Key{}, "", err
	}
	next, err := auth.Generate(old.Kind, from)
	if err != nil {
		return Key{}, "", err
	}
	if known, err := t.key(next.ID.String()); err == nil && t.now()-known.CreatedMillis < AnswerRetention.Milliseconds() {
		markRepeated(ctx)
		return known, next.String(), nil
	}
	if old.ExpiresMillis != 0 && old.ExpiresMillis <= t.now() {
		return Key{}, "", ErrWrongState
	}
	record := next.Record(old.Name, t.marketplace, t.now(), expiresMillis)
	created, ended := KeyRecord(&record), t.endingKey(old, t.now()+overlapMillis)
	created.Max, ended.Max, ended.Expect = t.store.Limits.Keys, t.store.Limits.Keys, stored.Version
	err = changed(t.putRecords(ctx, []command.Record{created, ended}))
	return keyOf(&record), next.String(), limited(err, "active keys of a kind", created.Max)
}

// endingKey is the replicated form of a key that ends at a time, or earlier if it would end then.
func (t Tenant) endingKey(old auth.Record, millis int64) command.Record {
	if old.ExpiresMillis == 0 || millis < old.ExpiresMillis {
		old.ExpiresMillis = millis
	}
	return KeyRecord(&old)
}

// KeyRecord is the replicated form of a new key.
func KeyRecord(r *auth.Record) command.Record {
	return command.Record{
		Kind: command.RecordAPIKey, Marketplace: r.Marketplace, ID: r.ID.String(), Value: r.Append(nil),
		Class: r.Kind.String(), Max: KeysMax, ExpiresMillis: r.ExpiresMillis,
	}
}

func (k KeyKind) auth() auth.Kind {
	if k == ManagementKey {
		return auth.Management
	}
	return auth.Auction
}

func keyOf(r *auth.Record) Key {
	k := Key{
		ID: r.ID.String(), Kind: AuctionKey, Name: r.Name,
		CreatedMillis: r.CreatedMillis, ExpiresMillis: r.ExpiresMillis,
	}
	if r.Kind == auth.Management {
		k.Kind = ManagementKey
	}
	return k
}

// RevokeKey deletes a key. ErrNotFound for an unknown one, ErrWrongState for the last management key, because without one nobody
// could create another.
func (t Tenant) RevokeKey(ctx context.Context, id string) error {
	key, err := t.key(id)
	if err != nil {
		return err
	}
	return t.putRecords(ctx, []command.Record{{
		Kind: command.RecordAPIKey, Marketplace: t.marketplace, ID: id, Expect: command.Any,
		NotLast: key.Kind == ManagementKey, Class: string(key.Kind),
	}})
}

func (t Tenant) key(id string) (Key, error) {
	value, err := t.record(command.RecordAPIKey, id)
	if err != nil {
		return Key{}, err
	}
	record, err := auth.ReadRecord(value)
	if err != nil {
		return Key{}, fmt.Errorf("key %s: %w", id, err)
	}
	return keyOf(&record), nil
}

// Keys lists the API keys, newest first.
func (t Tenant) Keys(context.Context) ([]Key, error) {
	records, err := read(t, t.store.Groups.Meta(), func(b shard.Queries) []shard.StoredRecord {
		all, _ := b.Records(command.RecordAPIKey, t.marketplace, "", KeysListed)
		return all
	})
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(records))
	for i, r := range records {
		record, err := auth.ReadRecord(r.Value)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", r.ID, err)
		}
		keys[i] = keyOf(&record)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.CreatedMillis, a.CreatedMillis), cmp.Compare(a.ID, b.ID))
	})
	return keys, nil
}

// CursorKey is the secret that authenticates page cursors.
func (t Tenant) CursorKey() [32]byte { return t.secrets().Cursor }

// UserSecret is the key of the hashes under which users are stored.
func (t Tenant) UserSecret() [32]byte { return t.secrets().Duplicate }

func (t Tenant) secrets() command.Secrets {
	t.session = nil // The secrets never change, so reading them must not wait for a leader.
	s, err := readOne(t, t.store.Groups.Meta(), func(b shard.Queries) (command.Secrets, bool) { return b.Secrets() })
	if err != nil {
		panic("store: a marketplace without secrets: " + err.Error()) // One command creates the marketplace and its secrets.
	}
	return s
}
