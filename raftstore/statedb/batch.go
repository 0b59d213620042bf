package statedb

import (
	"github.com/cockroachdb/pebble/v2"
)

// Batch collects the changes of applied batches of commands until Commit writes them. Its reads return the state before the
// batch: a state machine keeps what it changes in memory until the end anyway, and an indexed batch would cost each write
// an insert into a skip list. A write that fails ends the process.
//
// INVARIANT: the changes and the index they lead to are one write. State without its index would be applied twice.
type Batch struct {
	*Reader
	p   *pebble.Batch
	run run // The changes that are not in p yet.
	key []byte
}

// NewBatch returns an empty batch, which is reused after each Commit. It is not safe for concurrent use.
func (g *Group) NewBatch() *Batch {
	return &Batch{Reader: g.Reader(), p: g.db.p.NewBatch(), key: append([]byte(nil), g.prefix...)}
}

// Set stores a value. OWNERSHIP: key and value are copied.
func (b *Batch) Set(key, value []byte) { b.run.add(key, value, false) }

// Delete removes a key.
func (b *Batch) Delete(key []byte) { b.run.add(key, nil, true) }

// DeleteRange removes the keys from (included) to (excluded).
func (b *Batch) DeleteRange(from, to []byte) {
	b.endRun() // Later changes of these keys have to stay behind it.
	prefix := b.group.prefix
	high := append(append(make([]byte, 0, len(prefix)+len(to)), prefix...), to...)
	b.mustWrite(b.p.DeleteRange(b.fullKey(from), high, nil))
}

// endRun moves the changes since the last DeleteRange into p, in the order of their keys.
func (b *Batch) endRun() {
	b.run.sort()
	for i := range b.run.changes {
		c := &b.run.changes[i]
		if c.deleted() {
			b.mustWrite(b.p.Delete(b.fullKey(b.run.key(c)), nil))
		} else {
			b.mustWrite(b.p.Set(b.fullKey(b.run.key(c)), b.run.value(c), nil))
		}
	}
	b.run.reset()
}

func (b *Batch) fullKey(key []byte) []byte {
	b.key = append(b.key[:len(b.group.prefix)], key...)
	return b.key
}

// Bytes is the size of the changes so far.
func (b *Batch) Bytes() int { return b.p.Len() + b.run.size() }

// Commit writes the changes together with the applied record and empties the batch.
func (b *Batch) Commit(a Applied) {
	b.mustWrite(b.p.Set(b.group.appliedKey(), appendApplied(nil, a), nil))
	b.Flush()
}

// Flush writes the changes without an applied record. REQUIRES: the group has none, as during a restore.
func (b *Batch) Flush() {
	b.endRun()
	b.mustWrite(b.p.Commit(pebble.NoSync))
	b.p.Reset()
}

// Close releases the batch; uncommitted changes are dropped.
func (b *Batch) Close() error { return b.p.Close() }

func (b *Batch) mustWrite(err error) {
	if err != nil {
		b.group.db.exit.Now("state cannot be written", err)
	}
}
