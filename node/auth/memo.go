package auth

import "crypto/subtle"

// Memo is a small cache of Authorization headers that were accepted, so that a key that comes with every request is hashed
// only once: a constant-time comparison costs a third of a SHA-256. It is not safe for concurrent use.
type Memo struct {
	entries [memoEntries]memoEntry
	next    int
}

const (
	memoEntries   = 4                           // BOUND: few keys are in use at the same time. Requests with further keys are hashed.
	memoHeaderMax = len("bearer ") + KeyLen + 8 // BOUND: a header with more blanks than that is hashed every time.
)

type memoEntry struct {
	generation uint64 // 0 means that the entry is empty.
	length     int
	header     [memoHeaderMax]byte
	grant      grant
}

// grant is what a valid key allows.
type grant struct {
	expires     int64
	marketplace uint16
	kind        Kind
	id          ID
	used        *use
}

func (m *Memo) find(header []byte, generation uint64) (grant, bool) {
	for i := range m.entries {
		e := &m.entries[i]
		if e.generation == generation && e.length == len(header) &&
			subtle.ConstantTimeCompare(e.header[:e.length], header) == 1 {
			return e.grant, true
		}
	}
	return grant{}, false
}

func (m *Memo) store(header []byte, generation uint64, g grant) {
	if len(header) > memoHeaderMax {
		return
	}
	e := &m.entries[m.next]
	m.next = (m.next + 1) % memoEntries
	e.generation, e.length, e.grant = generation, len(header), g
	copy(e.header[:], header)
}
