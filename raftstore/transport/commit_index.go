package transport

import "github.com/hashicorp/raft"

// boundCommit lowers the commit index of a call to the last entry that the call is about: the last one it carries, or else the
// one before. Only up to there is the follower's log known to be the leader's.
//
// Raft v1.8.0 bounds it by the end of the follower's own log instead (appendEntries in raft.go; figure 2 of the Raft paper has
// "index of last new entry"). A leader that was killed and comes back may have entries there that were never committed. A call
// without entries then made it apply its own in the place of a committed one, and replicas differed. The new leader
// makes such a call if it commits an entry between looking for entries to send and adding its commit index.
func boundCommit(call *raft.AppendEntriesRequest) {
	last := call.PrevLogEntry
	if n := len(call.Entries); n > 0 {
		last = call.Entries[n-1].Index
	}
	call.LeaderCommitIndex = min(call.LeaderCommitIndex, last)
}
