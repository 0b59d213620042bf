package raftstore

import (
	"sync"

	"github.com/hashicorp/raft"
)

// takes counts what a full node takes, and only that: what is refused uses up nothing of what is left.
func (p *space) takes(bytes int64) bool {
	for {
		taken := p.taken.Load()
		if bytes > fullTakes-taken {
			return false
		}
		if p.taken.CompareAndSwap(taken, taken+bytes) {
			return true
		}
	}
}

// intake counts each entry that a leader sends to a full node once, however often it comes. A call is sent again when its answer was
// lost, also while raft still has the first one in hand, so the log alone does not say what is new.
//
// INVARIANT: within a term an index names one entry, for a term has one leader.
type intake struct {
	mu       sync.Mutex
	period   uint64 // Of the node being full, in which all this was counted.
	term     uint64 // Of the leader.
	from, to uint64 // The entries that were counted last, both included.
}

// take counts entries that follow each other, and reports whether the node takes them.
func (i *intake) take(p *space, term uint64, entries []*raft.Log) bool {
	if len(entries) == 0 {
		return true
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if period := p.period.Load(); period != i.period || term != i.term {
		i.period, i.term, i.from, i.to = period, term, 1, 0
	}
	bytes := int64(0)
	for _, l := range entries {
		if l.Type == raft.LogCommand && (l.Index < i.from || l.Index > i.to) {
			bytes += int64(len(l.Data) + len(l.Extensions))
		}
	}
	if bytes > 0 && !p.takes(bytes) {
		return false
	}
	first, last := entries[0].Index, entries[len(entries)-1].Index
	if first <= i.to+1 && last+1 >= i.from && i.from <= i.to {
		i.from, i.to = min(i.from, first), max(i.to, last)
	} else {
		i.from, i.to = first, last
	}
	return true
}

// fresh are the entries of a call that raft would append: those from the first one on that the log does not have. What it has, raft
// skips. A call that begins before the log does appends nothing.
func fresh(log raft.LogStore, entries []*raft.Log) []*raft.Log {
	last, err := log.LastIndex()
	for i, l := range entries {
		var have raft.Log
		if err == nil && l.Index <= last {
			if log.GetLog(l.Index, &have) != nil {
				return nil
			}
			if have.Term == l.Term {
				continue
			}
		}
		return entries[i:]
	}
	return nil
}
