package fsck

import (
	"encoding/binary"
	"fmt"
)

// Classes of dedup keys. Class 0 are ids of events; classes 1, 2 and 4 are charge keys, each of a token and a kind of event.
const (
	classEvent      = 0
	classClick      = 1
	classImpression = 2
	classReceived   = 3 // Not charge keys: ids of events by the hour of their report.
	classPurchase   = 4
)

// keysMax is how many charge keys are in memory at a time. BOUND: about 300 MB.
const keysMax = 4 << 20

// chargeKey is a charge key with its class: the click and the impression of one token have different ones.
type chargeKey struct {
	class uint8
	key   [16]byte
}

type decision struct {
	seq    uint64
	amount int64
}

// checkKeys finds charge keys that were decided twice in the journal, and compares the stored decisions with their
// lines. It reads the journal once for every keysMax decisions; each time it considers the keys of one residue class,
// which works because keys are hashes.
func (b *groupCheck) checkKeys(from source) {
	parts := uint32(b.g.Charges/keysMax) + 1 // Lines are fewer than 2^54.
	for part := range parts {
		b.checkPart(from, part, parts)
	}
}

func (b *groupCheck) checkPart(from source, part, parts uint32) {
	inPart := func(key []byte) bool { return parts == 1 || binary.LittleEndian.Uint32(key)%parts == part }
	decided := make(map[chargeKey]decision)
	err := from([]byte{tableJournal}, []byte{tableJournal + 1}, func(key, value []byte) {
		if len(key) != 9 {
			return
		}
		l, ok := readLine(binary.BigEndian.Uint64(key[1:]), value)
		if !ok || !l.decides() || !inPart(l.key[:]) {
			return
		}
		b.checkReversed(&l)
		k := chargeKey{l.class(), l.key}
		if first, twice := decided[k]; twice {
			b.problem(fmt.Sprintf("line %d", l.seq), "DOUBLE CHARGE: charge key %x was decided at line %d", l.key, first.seq)
			return
		}
		decided[k] = decision{l.seq, l.amount}
	})
	if err != nil {
		b.problem("", "the journal cannot be read to the end: %v", err)
		return
	}
	low, high := []byte{tableDedup, classClick}, []byte{tableDedup, classPurchase + 1}
	err = from(low, high, func(key, value []byte) {
		if len(key) != 22 || key[1] == classReceived || !inPart(key[6:]) {
			return
		}
		r := reader{rest: value}
		r.u8() // The outcome.
		charged := r.uvarint()
		d, found := decided[chargeKey{key[1], [16]byte(key[6:])}]
		place := fmt.Sprintf("charge key %x", key[6:])
		switch {
		case r.bad:
			b.problem(place, "its value cannot be decoded")
		case !found:
			b.problem(place, "is stored and has no line in the journal")
		case charged != uint64(d.amount): // A negative amount differs.
			b.problem(place, "is stored with %d, line %d says %d", charged, d.seq, d.amount)
		}
	})
	if err != nil {
		b.problem("", "the charge keys cannot be read to the end: %v", err)
	}
}
