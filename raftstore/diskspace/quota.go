package diskspace

import (
	"sync"

	"github.com/hashicorp/raft"
)

// chargeQuota charges bytes to the quota of a Full node, and returns false without a charge when they do not fit.
func (w *Watch) chargeQuota(bytes int64) bool {
	for {
		taken := w.quotaUsed.Load()
		if bytes > quotaBytes-taken {
			return false
		}
		if w.quotaUsed.CompareAndSwap(taken, taken+bytes) {
			return true
		}
	}
}

// Quota charges each entry that a leader sends to a Full node once, however often it arrives. A call is sent again
// when its answer was lost, also while Raft still processes the first one, so the log alone does not show which entries
// are new.
//
// INVARIANT: within a term an index names one entry, because a term has one leader.
type Quota struct {
	mu       sync.Mutex
	period   uint64 // The value of Watch.fullPeriod for which the entries were charged.
	term     uint64 // The leader's term.
	from, to uint64 // The entries that were charged last, both included.
}

// Admit charges consecutive entries to the quota, and reports whether the node stores them.
func (q *Quota) Admit(w *Watch, term uint64, entries []*raft.Log) bool {
	if len(entries) == 0 {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if period := w.fullPeriod.Load(); period != q.period || term != q.term {
		q.period, q.term, q.from, q.to = period, term, 1, 0
	}
	bytes := int64(0)
	for _, l := range entries {
		if l.Type == raft.LogCommand && (l.Index < q.from || l.Index > q.to) {
			bytes += int64(len(l.Data) + len(l.Extensions))
		}
	}
	if bytes > 0 && !w.chargeQuota(bytes) {
		return false
	}
	first, last := entries[0].Index, entries[len(entries)-1].Index
	if first <= q.to+1 && last+1 >= q.from && q.from <= q.to {
		q.from, q.to = min(q.from, first), max(q.to, last)
	} else {
		q.from, q.to = first, last
	}
	return true
}

// EntriesToAppend returns the entries of a call that Raft would append: those from the first one on that the log does
// not have. Raft skips those that it has. A call that begins before the log does appends nothing.
func EntriesToAppend(log raft.LogStore, entries []*raft.Log) []*raft.Log {
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
