package auth

import (
	"crypto/subtle"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
)

// Table is the set of all API keys, replicated into this node's memory, so that no check ever waits. It is safe for concurrent use.
//
// The keys lie in one immutable map behind an atomic pointer. A change copies the map, which costs microseconds for the few dozen
// keys of a marketplace and happens a few times a year. In return a check is one load without a lock.
//
// INVARIANT: every published map has a generation that no other map of this process ever had. A Memo uses its entries only for the
// generation in which it stored them, so a revoked key is refused by the first check that begins after Delete returned.
//
// A node that is cut off from the cluster does not receive revocations. After a while it refuses all keys: see RequireCurrent.
type Table struct {
	keys    atomic.Pointer[keys]
	write   sync.Mutex  // Serialises Put, Delete and Reset; checks never take it.
	uses    map[ID]*use // Of each key. Guarded by write; kept by Reset, after which the same keys come back.
	current func(at time.Time) bool
}

type keys struct {
	generation uint64
	byID       map[ID]entry
}

// entry is a key and its use on this node.
type entry struct {
	Record
	used *use
}

// generations is shared by all tables of a process. In tests a pooled Memo may be used with several tables, and it must not take the
// third map of one for the third map of another. Generations start at 1, so no entry of a zero Memo is valid.
var generations atomic.Uint64

// NewTable returns a table without keys.
func NewTable() *Table {
	t := &Table{uses: map[ID]*use{}}
	t.publish(nil)
	return t
}

// Put adds or replaces the key whose stored record is value. It returns ErrRecord for a value that is no record, or not that of id.
func (t *Table) Put(id string, value []byte) error {
	r, err := ReadRecord(value)
	if err != nil {
		return fmt.Errorf("key %s: %w", id, err)
	}
	if r.ID.String() != id {
		return fmt.Errorf("key %s has the record of another key: %w", id, ErrRecord)
	}
	t.write.Lock()
	defer t.write.Unlock()
	next := maps.Clone(t.keys.Load().byID)
	if next == nil {
		next = make(map[ID]entry, 1)
	}
	used := t.uses[r.ID]
	if used == nil {
		used = new(use)
		t.uses[r.ID] = used
	}
	next[r.ID] = entry{r, used}
	t.publish(next)
	return nil
}

// Delete removes a key. An unknown id is ignored.
func (t *Table) Delete(id string) {
	if len(id) != idLen {
		return
	}
	t.write.Lock()
	defer t.write.Unlock()
	next := maps.Clone(t.keys.Load().byID)
	delete(next, ID([]byte(id)))
	delete(t.uses, ID([]byte(id)))
	t.publish(next)
}

// Reset removes all keys, before the keys of a snapshot are put.
func (t *Table) Reset() {
	t.write.Lock()
	defer t.write.Unlock()
	t.publish(nil)
}

// LastUsed returns the beginning of the minute in which a key was last accepted by this node, as Unix milliseconds; 0: not since
// the node started, or there is no such key.
func (t *Table) LastUsed(id string) int64 {
	return t.useOf(id).minute.Load() * time.Minute.Milliseconds()
}

// Requests returns how many requests this node accepted a key for on the UTC day at a time and on the day before it, since it started;
// zeros when there is no such key.
func (t *Table) Requests(id string, at time.Time) (today, yesterday int64) {
	return t.useOf(id).days(at)
}

// unused is the use of keys that do not exist. It is never written.
var unused use

func (t *Table) useOf(id string) *use {
	if len(id) != idLen {
		return &unused
	}
	k, known := t.keys.Load().byID[ID([]byte(id))]
	if !known {
		return &unused
	}
	return k.used
}

func (t *Table) publish(byID map[ID]entry) {
	t.keys.Store(&keys{generation: generations.Add(1), byID: byID})
}

// RequireCurrent makes the table refuse every key with ServiceUnavailable while current returns false; unknown keys too, because
// they may have been created in between. REQUIRES: it is called before the first check.
func (t *Table) RequireCurrent(current func(at time.Time) bool) { t.current = current }

// Result is the result of a check. With any code but OK the other members are zero.
type Result struct {
	// Code is OK, InvalidAPIKey (401), ForbiddenAPIKey (403: a valid key of the other kind) or ServiceUnavailable (503: the
	// table is not current).
	Code        apierr.Code
	Marketplace uint16
	ID          ID

	used *use
}

// Count counts a request whose key was accepted. It is called once for each request, and does nothing for a refused one. It costs one
// atomic addition.
func (r Result) Count() {
	if r.used != nil {
		r.used.total.Add(1)
	}
}

// Check checks the value of an Authorization header at a time. OWNERSHIP: memo belongs to the caller; with it a key that was seen
// before costs a comparison instead of a hash. Check allocates nothing.
//
// Whatever is wrong with a key, the answer is the same and takes the same steps: an unknown id is compared with a record whose
// secret nobody has.
func (t *Table) Check(header []byte, want Kind, at time.Time, memo *Memo) Result {
	if t.current != nil && !t.current(at) {
		return Result{Code: apierr.ServiceUnavailable}
	}
	k := t.keys.Load()
	r, known := memo.find(header, k.generation)
	if !known {
		if r, known = k.verify(header); !known {
			return Result{Code: apierr.InvalidAPIKey}
		}
		memo.store(header, k.generation, r)
	}
	switch {
	case r.expires != 0 && at.UnixMilli() >= r.expires:
		return Result{Code: apierr.InvalidAPIKey}
	case r.kind != want:
		return Result{Code: apierr.ForbiddenAPIKey}
	}
	r.used.accept(at)
	return Result{Marketplace: r.marketplace, ID: r.id, used: r.used}
}

// Valid reports whether a key exists, has the kind and the marketplace, and has not expired. It is for tokens, which were issued for
// a key and have to end with it.
func (t *Table) Valid(id ID, want Kind, marketplace uint16, at time.Time) bool {
	r, known := t.keys.Load().byID[id]
	return known && r.Kind == want && r.Marketplace == marketplace && (r.ExpiresMillis == 0 || at.UnixMilli() < r.ExpiresMillis) &&
		(t.current == nil || t.current(at))
}

// unknownKey is compared with the keys of unknown ids. No secret is known whose hash is all zeros.
var unknownKey entry

func (k *keys) verify(header []byte) (grant, bool) {
	text, ok := bearer(header)
	if !ok {
		return grant{}, false
	}
	key, ok := Parse(text)
	if !ok {
		return grant{}, false
	}
	r, found := k.byID[key.ID]
	if !found {
		r = unknownKey
	}
	hash := key.hash()
	same := subtle.ConstantTimeCompare(hash[:], r.Hash[:]) == 1
	if !same || !found || key.Kind != r.Kind { // No key was issued whose prefix contradicts its record.
		return grant{}, false
	}
	return grant{kind: r.Kind, marketplace: r.Marketplace, id: r.ID, expires: r.ExpiresMillis, used: r.used}, true
}

// bearer returns the credentials of a Bearer header: the scheme in any case, then at least one space.
func bearer(header []byte) ([]byte, bool) {
	const scheme = "bearer"
	if len(header) <= len(scheme) || header[len(scheme)] != ' ' {
		return nil, false
	}
	for i := range len(scheme) {
		if header[i]|0x20 != scheme[i] {
			return nil, false
		}
	}
	text := header[len(scheme):]
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	return text, true
}
