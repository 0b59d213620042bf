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

// Table is the set of API keys that this node knows: all of them, replicated, in memory, so that no check ever waits.
//
// The keys lie in one immutable map behind an atomic pointer. A change copies the map, which costs microseconds at the
// few dozen keys of a marketplace and happens a few times a year; in return a check is one load without a lock.
//
// INVARIANT: every published map has a generation that no other map of this process ever had. A Memo trusts what it
// remembers only under the generation it was learnt under, so a revoked key is refused by the first check that begins
// after Delete returned.
//
// A node that is cut off does not hear of revocations. From some time on it judges no key at all: see Fence.
type Table struct {
	keys    atomic.Pointer[keys]
	write   sync.Mutex // Serialises Put, Delete and Reset; checks never take it.
	current func(at time.Time) bool
}

type keys struct {
	generation uint64
	byID       map[ID]Record
}

// generations is shared by all tables of a process: a pooled Memo may meet several (in tests), and must not mistake the
// third map of one for the third map of another. It starts at 1, so the zero Memo trusts nothing.
var generations atomic.Uint64

// NewTable returns a table without keys.
func NewTable() *Table {
	t := &Table{}
	t.publish(nil)
	return t
}

// Put adds or replaces the key whose stored record is value, or returns ErrRecord. REQUIRES: id is the record's own.
func (t *Table) Put(id string, value []byte) error {
	r, err := ReadRecord(value)
	if err != nil {
		return fmt.Errorf("key %s: %w", id, err)
	}
	if r.ID.String() != id {
		return fmt.Errorf("key %s holds the record of another: %w", id, ErrRecord)
	}
	t.write.Lock()
	defer t.write.Unlock()
	next := maps.Clone(t.keys.Load().byID)
	if next == nil {
		next = make(map[ID]Record, 1)
	}
	next[r.ID] = r
	t.publish(next)
	return nil
}

// Delete forgets a key; an unknown id is ignored.
func (t *Table) Delete(id string) {
	if len(id) != idLen {
		return
	}
	t.write.Lock()
	defer t.write.Unlock()
	next := maps.Clone(t.keys.Load().byID)
	delete(next, ID([]byte(id)))
	t.publish(next)
}

// Reset forgets all keys, before they are fed anew.
func (t *Table) Reset() {
	t.write.Lock()
	defer t.write.Unlock()
	t.publish(nil)
}

func (t *Table) publish(byID map[ID]Record) {
	t.keys.Store(&keys{generation: generations.Add(1), byID: byID})
}

// Fence lets the table judge only when it is current: at other times every key is refused with ServiceUnavailable, also one
// that is not known here, because it may have been made meanwhile. REQUIRES: it is called before the first check.
func (t *Table) Fence(current func(at time.Time) bool) { t.current = current }

// Verdict is what a check found. With any code but OK the other members are zero.
type Verdict struct {
	// Code is OK, InvalidAPIKey (401), ForbiddenAPIKey (403: a good key of the other kind) or ServiceUnavailable (503: the
	// table is not current).
	Code        apierr.Code
	Marketplace uint16
	ID          ID
}

// Check judges the value of an Authorization header at a time. memo belongs to the caller and is not
// shared; it makes the check of a key that was seen before a comparison instead of a hash. Nothing is allocated.
//
// Whatever is wrong with a key, the answer is the same and takes the same steps: an unknown id is compared with a record
// nobody has the secret of.
func (t *Table) Check(header []byte, want Kind, at time.Time, memo *Memo) Verdict {
	if t.current != nil && !t.current(at) {
		return Verdict{Code: apierr.ServiceUnavailable}
	}
	k := t.keys.Load()
	r, known := memo.find(header, k.generation)
	if !known {
		if r, known = k.verify(header); !known {
			return Verdict{Code: apierr.InvalidAPIKey}
		}
		memo.keep(header, k.generation, r)
	}
	switch {
	case r.expires != 0 && at.UnixMilli() >= r.expires:
		return Verdict{Code: apierr.InvalidAPIKey}
	case r.kind != want:
		return Verdict{Code: apierr.ForbiddenAPIKey}
	}
	return Verdict{Marketplace: r.marketplace, ID: r.id}
}

// Lives reports whether a key is there, of a kind and a marketplace, and has not expired: for what was handed out on the
// strength of a key and has to end with it.
func (t *Table) Lives(id ID, want Kind, marketplace uint16, at time.Time) bool {
	r, known := t.keys.Load().byID[id]
	return known && r.Kind == want && r.Marketplace == marketplace && (r.ExpiresMillis == 0 || at.UnixMilli() < r.ExpiresMillis) &&
		(t.current == nil || t.current(at))
}

// nobody stands in for an unknown id. No secret is known to hash to all zeros.
var nobody Record

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
		r = nobody
	}
	hash := key.hash()
	same := subtle.ConstantTimeCompare(hash[:], r.Hash[:]) == 1
	if !same || !found || key.Kind != r.Kind { // A text whose prefix contradicts the record was never handed out.
		return grant{}, false
	}
	return grant{kind: r.Kind, marketplace: r.Marketplace, id: r.ID, expires: r.ExpiresMillis}, true
}

// bearer returns the credentials of a Bearer header: the scheme in any case, then one or more spaces.
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
