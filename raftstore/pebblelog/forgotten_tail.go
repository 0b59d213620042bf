package pebblelog

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// reasonTailForgotten is the reason of an exit after a leader's snapshot. loadtest/nemesis knows the text, too.
const reasonTailForgotten = "a snapshot replaced more of the log than it holds"

type snapshotEnd struct{ index, term uint64 }

// SnapshotInstalled says that a snapshot that ends with this entry has just replaced the state. Raft deletes the whole
// log next.
func (l *Log) SnapshotInstalled(index, term uint64) { l.replaced.Store(&snapshotEnd{index, term}) }

// checkForgottenTail returns an error when the whole log is deleted for a snapshot and Raft goes on to believe in the
// entry in which the log ended (hashicorp/raft#697): because that entry lies behind the snapshot, or in the same place
// and is another one.
//
// The log then has nothing between the snapshot and what Raft believes to be its end. In an election the node would
// count entries that it does not have, and a leader that believes it has them would make it append behind the gap and
// acknowledge that. Before either, the process ends. The next one reads the end of its log from the disk.
func (l *Log) checkForgottenTail(last uint64) error {
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
