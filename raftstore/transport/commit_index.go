package transport

import "github.com/hashicorp/raft"

// boundCommit lowers the commit index of a call to the last entry that the call is about: the last one it carries, or else the
// one before. Only up to there is the follower's log known to be the leader's.
//
// Raft v1.8.0 bounds it by the end of the follower's own log instead (appendEntries in raft.go; figure 2 of the Raft paper has
// "index of last new entry"). An old leader that comes back may have entries there that were never committed, and a call without
// entries, which was begun when the leader had none for it and ended, on a busy machine, when it had committed some, made the
// old leader apply its own entry in the place of a committed one: replicas differed. TestCluster met it once in 300 runs.
func boundCommit(call *raft.AppendEntriesRequest) {
	last := call.PrevLogEntry
	if n := len(call.Entries); n > 0 {
		last = call.Entries[n-1].Index
	}
	call.LeaderCommitIndex = min(call.LeaderCommitIndex, last)
}
