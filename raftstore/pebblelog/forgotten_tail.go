package pebblelog

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// reasonForgotten is why a process ends itself after a snapshot of a leader. The nemesis knows it, too.
const reasonForgotten = "a snapshot replaced more of the log than it holds"

type snapshotEnd struct{ index, term uint64 }

// Replaced says that a snapshot that ends with this entry has just replaced the state. Raft drops the whole log next.
func (l *Log) Replaced(index, term uint64) { l.replaced.Store(&snapshotEnd{index, term}) }

// forgotten is an error when the whole log is dropped for a snapshot, and raft goes on to believe in the entry in which the log ended
// (hashicorp/raft#697): because that lies behind the snapshot, or in the same place and is another one.
//
// The log has nothing then between the snapshot and what raft takes for its end. In an election the node would stand for
// entries that it does not hold, and a leader that takes them for held would have it append behind the gap and acknowledge that. Before
// either, the process ends. The next one reads the end of its log from the disk.
func (l *Log) forgotten(last uint64) error {
	snap := l.replaced.Swap(nil)
	if snap == nil || last < snap.index {
		return nil
	}
	var end raft.Log
	if err := l.GetLog(last, &end); err != nil {
		return fmt.Errorf("group %d: entry %d: %w", l.group, last, err)
	}
	if last == snap.index && end.Term == snap.term {
		return nil
	}
	return fmt.Errorf("group %d: the log ended with entry %d of term %d, the snapshot with entry %d of term %d",
		l.group, last, end.Term, snap.index, snap.term)
}
