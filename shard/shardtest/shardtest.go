// Package shardtest helps to test the replicated machine: an ordered key/value store in memory, a feed that records
// what auctions receive, a generator of random commands, a naive model for comparison, and a runner for test scripts.
//
// It shares no code with the machine except package command: the model keeps every event for ever, computes counters
// from all events, and uses big integers.
package shardtest

import (
	"bytes"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard"
)

// KV is the durable state of one group, in memory.
type KV struct {
	values map[string][]byte
	sorted []string // Sorted keys; nil after a change.

	Gets int // Counts the calls of Get, because a read costs several times as much as a write.
}

// NewKV returns an empty store.
func NewKV() *KV { return &KV{values: make(map[string][]byte)} }

// Get returns the value of a key.
func (kv *KV) Get(key []byte) ([]byte, bool) {
	kv.Gets++
	v, found := kv.values[string(key)]
	return v, found
}

// Scan calls fn for every key in [from, to), ascending.
func (kv *KV) Scan(from, to []byte, fn func(key, value []byte) bool) {
	if kv.sorted == nil {
		kv.sorted = slices.Sorted(maps.Keys(kv.values))
	}
	i, _ := slices.BinarySearch(kv.sorted, string(from))
	for _, key := range kv.sorted[i:] {
		if key >= string(to) || !fn([]byte(key), kv.values[key]) {
			return
		}
	}
}

// Copy returns a store with the same content: a snapshot installed on another node.
func (kv *KV) Copy() *KV { return &KV{values: maps.Clone(kv.values)} }

// Equal reports whether two stores hold the same bytes.
func (kv *KV) Equal(o *KV) bool { return maps.EqualFunc(kv.values, o.values, bytes.Equal) }

// Len returns the number of records.
func (kv *KV) Len() int { return len(kv.values) }

// Put changes one record without the machine, as corruption does. A nil value removes the record.
func (kv *KV) Put(key, value []byte) {
	kv.sorted = nil
	if value == nil {
		delete(kv.values, string(key))
		return
	}
	kv.values[string(key)] = bytes.Clone(value)
}

// Batch stages changes of a KV. Its reads return the state before them.
type Batch struct {
	*KV
	changes []change
	arena   []byte
}

type change struct {
	op         op
	key, value [2]int // Ranges of the arena; of a deleted range, its ends.
}

type op uint8

const (
	opSet op = iota
	opDelete
	opDeleteRange
)

var _ shard.Batch = (*Batch)(nil)

// Batch returns an empty batch.
func (kv *KV) Batch() *Batch { return &Batch{KV: kv} }

func (b *Batch) keep(x []byte) [2]int {
	from := len(b.arena)
	b.arena = append(b.arena, x...)
	return [2]int{from, len(b.arena)}
}

func (b *Batch) text(r [2]int) []byte { return b.arena[r[0]:r[1]] }

// Set stages a record.
func (b *Batch) Set(key, value []byte) {
	b.changes = append(b.changes, change{opSet, b.keep(key), b.keep(value)})
}

// Delete stages the deletion of a record.
func (b *Batch) Delete(key []byte) {
	b.changes = append(b.changes, change{op: opDelete, key: b.keep(key)})
}

// DeleteRange stages the deletion of all records in [from, to).
func (b *Batch) DeleteRange(from, to []byte) {
	b.changes = append(b.changes, change{opDeleteRange, b.keep(from), b.keep(to)})
}

// Commit applies the changes in order and empties the batch.
func (b *Batch) Commit() {
	for _, c := range b.changes {
		switch key := b.text(c.key); c.op {
		case opSet:
			b.KV.Put(key, append([]byte{}, b.text(c.value)...))
		case opDelete:
			b.KV.Put(key, nil)
		case opDeleteRange:
			to := string(b.text(c.value))
			maps.DeleteFunc(b.KV.values, func(k string, _ []byte) bool { return k >= string(key) && k < to })
			b.KV.sorted = nil
		}
	}
	b.Discard()
}

// Discard empties the batch.
func (b *Batch) Discard() { b.changes, b.arena = b.changes[:0], b.arena[:0] }
