package diskspace

import (
	"math"
	"testing"

	"github.com/hashicorp/raft"
)

// What a Full node refuses, a snapshot or a large batch, is not charged to its quota.
func TestFullNodeChargesOnlyWhatItStores(t *testing.T) {
	var p Watch
	for i, step := range []struct {
		bytes int64
		takes bool
	}{
		{quotaBytes + 1, false},
		{math.MaxInt64, false},
		{quotaBytes - 100, true},
		{101, false},
		{60, true},
		{41, false},
		{40, true},
		{1, false},
	} {
		if got := p.chargeQuota(step.bytes); got != step.takes {
			t.Errorf("step %d: %d bytes: %v with %d taken", i, step.bytes, got, p.quotaUsed.Load())
		}
	}
}

// run returns the commands from one index to another, both included, of 1,000 bytes each.
func run(term, from, to uint64) (entries []*raft.Log) {
	for i := from; i <= to; i++ {
		entries = append(entries, &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: make([]byte, 990), Extensions: make([]byte, 10)})
	}
	return entries
}

// A call that is delivered ten times is charged once, whether Raft has appended it meanwhile or not. Entries that
// replace others are charged; entries that Raft does not append are not.
func TestFullNodeCountsAnEntryOnce(t *testing.T) {
	const commands = 1_000
	for _, appended := range []bool{true, false} {
		var p Watch
		var i Quota
		log := raft.NewInmemStore()
		if err := log.StoreLogs(run(1, 10, 20)); err != nil { // Entries before 10 are compacted.
			t.Fatal(err)
		}
		for _, step := range []struct {
			what         string
			leader       uint64
			entries      []*raft.Log
			taken        int64 // The charged bytes after the call.
			append, next bool  // Raft appends the entries; a new period of being Full begins.
		}{
			{"what the log has", 1, run(1, 15, 20), 0, false, false},
			{"a call before the log", 1, run(1, 5, 25), 0, false, false},
			{"half of it new", 1, run(1, 18, 24), 4 * commands, true, false},
			{"raft's own", 1, []*raft.Log{{Index: 25, Term: 1, Type: raft.LogNoop, Data: make([]byte, 100)}}, 4 * commands, true, false},
			{"the next ones", 1, run(1, 26, 27), 6 * commands, true, false},
			{"another leader's, beyond the end", 3, run(3, 40, 41), 8 * commands, false, false},
			{"the same leader's, from where they differ", 3, run(3, 26, 39), 22 * commands, true, false},
			{"and the rest, which was counted before", 3, run(3, 40, 41), 22 * commands, true, false},
			{"in another time of being full", 3, run(3, 42, 43), 2 * commands, true, true},
		} {
			if step.next {
				p.quotaUsed.Store(0)
				p.fullPeriod.Add(1)
			}
			for range 10 {
				if !i.Admit(&p, step.leader, EntriesToAppend(log, step.entries)) {
					t.Errorf("%s: not taken", step.what)
				}
				if appended && step.append {
					appendAsRaft(t, log, step.entries)
				}
			}
			if !appended && step.append {
				appendAsRaft(t, log, step.entries)
			}
			if got := p.quotaUsed.Load(); got != step.taken {
				t.Errorf("%s, appended at once %v: %d bytes taken, want %d", step.what, appended, got, step.taken)
			}
		}
		if i.Admit(&p, 3, run(3, 44, 44+quotaBytes/commands)) {
			t.Error("more than all is taken")
		}
		if got := p.quotaUsed.Load(); got != 2*commands {
			t.Errorf("what was refused counts: %d", got)
		}
	}
}

// appendAsRaft appends entries as Raft's follower does.
func appendAsRaft(t *testing.T, log *raft.InmemStore, entries []*raft.Log) {
	t.Helper()
	entries = EntriesToAppend(log, entries)
	if len(entries) == 0 {
		return
	}
	last, err := log.LastIndex()
	if err == nil && last >= entries[0].Index {
		err = log.DeleteRange(entries[0].Index, last)
	}
	if err == nil {
		err = log.StoreLogs(entries)
	}
	if err != nil {
		t.Fatal(err)
	}
}
