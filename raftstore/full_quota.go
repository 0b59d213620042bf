package raftstore

import (
	"sync"

	"github.com/hashicorp/raft"
)

// chargeQuota charges bytes to the quota of a Full node, and returns false without a charge when they do not fit.
func (p *space) chargeQuota(bytes int64) bool {
	for {
		taken := p.quotaUsed.Load()
		if bytes > fullQuotaBytes-taken {
			return false
		}
		if p.quotaUsed.CompareAndSwap(taken, taken+bytes) {
			return true
		}
	}
}

// fullQuota charges each entry that a leader sends to a Full node once, however often it arrives. A call is sent again
// when its answer was lost, also while Raft still processes the first one, so the log alone does not show which entries
// are new.
//
// INVARIANT: within a term an index names one entry, because a term has one leader.
type fullQuota struct {
	mu       sync.Mutex
	period   uint64 // The value of space.fullPeriod for which the entries were charged.
	term     uint64 // The leader's term.
	from, to uint64 // The entries that were charged last, both included.
}

// admit charges consecutive entries to the quota, and reports whether the node stores them.
func (i *fullQuota) admit(p *space, term uint64, entries []*raft.Log) bool {
	if len(entries) == 0 {
		return true
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if period := p.fullPeriod.Load(); period != i.period || term != i.term {
		i.period, i.term, i.from, i.to = period, term, 1, 0
	}
	bytes := int64(0)
	for _, l := range entries {
		if l.Type == raft.LogCommand && (l.Index < i.from || l.Index > i.to) {
			bytes += int64(len(l.Data) + len(l.Extensions))
		}
	}
	if bytes > 0 && !p.chargeQuota(bytes) {
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

// entriesToAppend returns the entries of a call that Raft would append: those from the first one on that the log does
// not have. Raft skips those that it has. A call that begins before the log does appends nothing.
func entriesToAppend(log raft.LogStore, entries []*raft.Log) []*raft.Log {
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
