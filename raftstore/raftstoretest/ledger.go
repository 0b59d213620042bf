package raftstoretest

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/gavel-ads/gavel/raftstore"
)

// Ledger is a state machine that gives every id its place in the order of arrival. A repeated id keeps its place, so
// commands may be repeated. The digest is a chain over all places: two ledgers with the same digest have applied the
// same commands in the same order.
type Ledger struct {
	mu     sync.Mutex // The machine runs in one goroutine; tests read it from others.
	places map[uint64]uint64
	chain  uint64
	dirty  []uint64
}

var _ raftstore.StateMachine = (*Ledger)(nil)

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{places: map[uint64]uint64{}} }

// LedgerNoop is a command that changes nothing.
var LedgerNoop = []byte{}

// LedgerCommand gives id a place; the result is the place, from 1, as 8 bytes big-endian.
func LedgerCommand(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

var (
	ledgerFirst = []byte("i")
	ledgerEnd   = []byte("j")
	ledgerChain = []byte("chain")
)

// Load reads all places.
func (l *Ledger) Load(r raftstore.Reader) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.places)
	l.dirty, l.chain = nil, 0
	if v, found := r.Get(ledgerChain); found {
		l.chain = binary.BigEndian.Uint64(v)
	}
	r.Scan(ledgerFirst, ledgerEnd, func(key, value []byte) bool {
		if len(key) != 9 || len(value) != 8 {
			err = fmt.Errorf("ledger record %x: %x", key, value)
			return false
		}
		l.places[binary.BigEndian.Uint64(key[1:])] = binary.BigEndian.Uint64(value)
		return true
	})
	return err
}

// Apply gives an id its place.
func (l *Ledger) Apply(_ raftstore.Batch, cmd []byte) (result []byte) {
	if len(cmd) != 8 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := binary.BigEndian.Uint64(cmd)
	place, known := l.places[id]
	if !known {
		place = uint64(len(l.places)) + 1
		l.places[id] = place
		l.dirty = append(l.dirty, id)
		var b [24]byte
		binary.BigEndian.PutUint64(b[0:], l.chain)
		binary.BigEndian.PutUint64(b[8:], id)
		binary.BigEndian.PutUint64(b[16:], place)
		l.chain = xxhash.Sum64(b[:])
	}
	return binary.BigEndian.AppendUint64(nil, place)
}

// EndBatch defers every write, so that tests with a Ledger show that reads, snapshots and crashes bear it.
func (l *Ledger) EndBatch() (deferrable bool) { return true }

// Flush writes the new places and the chain.
func (l *Ledger) Flush(b raftstore.Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.dirty {
		b.Set(binary.BigEndian.AppendUint64([]byte("i"), id), binary.BigEndian.AppendUint64(nil, l.places[id]))
	}
	if len(l.dirty) > 0 {
		b.Set(ledgerChain, binary.BigEndian.AppendUint64(nil, l.chain))
	}
	l.dirty = l.dirty[:0]
}

// Committed does nothing.
func (l *Ledger) Committed() {}

// Digest is the chain.
func (l *Ledger) Digest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain
}

// Place returns the place of an id, 0 for none.
func (l *Ledger) Place(id uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.places[id]
}

// Len is the number of places given.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.places)
}
