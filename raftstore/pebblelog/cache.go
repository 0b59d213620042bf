package pebblelog

import (
	"sync"

	"github.com/hashicorp/raft"
)

// tailEntriesMax bounds the cached entries of a group: a power of two, about 1 MB of headers.
const tailEntriesMax = 8192

// tail caches the newest entries of a group decoded, for followers that are a little behind. It is bounded by bytes:
// Raft's own LogCache is bounded by count and held hundreds of megabytes of 48 KB entries.
//
// INVARIANT: entries low..high-1 are cached, contiguous, and every one is durable.
// OWNERSHIP: cached entries share Data with the entries that Raft appended; nobody changes it.
type tail struct {
	bytesMax int

	mu        sync.Mutex
	ring      []raft.Log
	low, high uint64 // Half open; equal when empty.
	bytes     int
}

func entryBytes(l *raft.Log) int { return len(l.Data) + len(l.Extensions) }

// add appends durable entries. REQUIRES: they follow what was added before, or the log was empty.
func (t *tail) add(logs []*raft.Log) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ring == nil {
		t.ring = make([]raft.Log, tailEntriesMax)
	}
	if t.low == t.high || logs[0].Index != t.high {
		t.clear()
		t.low, t.high = logs[0].Index, logs[0].Index
	}
	for _, l := range logs {
		if t.high-t.low == tailEntriesMax {
			t.dropLow()
		}
		t.ring[l.Index%tailEntriesMax] = *l
		t.bytes += entryBytes(l)
		t.high = l.Index + 1
	}
	for t.bytes > t.bytesMax && t.low < t.high {
		t.dropLow()
	}
}

func (t *tail) get(index uint64, l *raft.Log) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if index < t.low || index >= t.high {
		return false
	}
	*l = t.ring[index%tailEntriesMax]
	return true
}

// deleteRange removes the entries min..max, both included.
func (t *tail) deleteRange(min, max uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.low < t.high && t.low >= min && t.low <= max {
		t.dropLow()
	}
	for t.low < t.high && t.high-1 >= min && t.high-1 <= max {
		t.high--
		t.drop(t.high)
	}
}

func (t *tail) clear() {
	for t.low < t.high {
		t.dropLow()
	}
}

func (t *tail) dropLow() {
	t.drop(t.low)
	t.low++
}

func (t *tail) drop(index uint64) {
	slot := &t.ring[index%tailEntriesMax]
	t.bytes -= entryBytes(slot)
	*slot = raft.Log{}
}
