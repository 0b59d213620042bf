package transport

import (
	"errors"
	"io"
	"slices"

	"github.com/hashicorp/raft"
)

// Admission limits which calls reach Raft, and whether this node campaigns. A nil function allows everything. The
// functions are called for each call, from several goroutines.
type Admission struct {
	MayCampaign func() bool // This node may campaign by itself.
	MayLead     func() bool // The leader may transfer the leadership to this node.
	// Entries of the leader of a term may be stored; commands are among them. Heartbeats and Raft's own entries always
	// pass.
	MayStore func(term uint64, entries []*raft.Log) bool
	// A snapshot of this size may be installed.
	MayInstall func(bytes int64) bool
}

var errNotAdmitted = errors.New("this node does not admit the call: its disk is nearly full, or it leaves leadership to others")

// SetAdmission sets the admission of the transport.
//
// Raft cannot be told that a voter must not lead. But its calls can be left unsent: a round of pre-votes that no node
// receives changes no term, and the voter goes on answering those of others. REQUIRES: pre-vote is on.
func (s Safe) SetAdmission(b Admission) { s.filter.admission.Store(&b) }

func (b *Admission) refuses(rpc raft.RPC) bool {
	if b == nil {
		return false
	}
	switch c := rpc.Command.(type) {
	case *raft.TimeoutNowRequest:
		return b.MayLead != nil && !b.MayLead()
	case *raft.AppendEntriesRequest:
		isCommand := func(l *raft.Log) bool { return l.Type == raft.LogCommand }
		return b.MayStore != nil && slices.ContainsFunc(c.Entries, isCommand) && !b.MayStore(c.Term, c.Entries)
	case *raft.InstallSnapshotRequest:
		return b.MayInstall != nil && !b.MayInstall(c.Size)
	}
	return false
}

// refuse answers a call with an error. The bytes that follow a snapshot's call on its connection are read first.
func refuse(rpc raft.RPC) {
	if rpc.Reader != nil {
		_, _ = io.Copy(io.Discard, rpc.Reader) // The connection may be gone; so is the answer then.
	}
	rpc.Respond(nil, errNotAdmitted)
}
