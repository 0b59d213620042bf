package transport

import (
	"errors"
	"io"
	"slices"

	"github.com/hashicorp/raft"
)

// Brakes keep a node from taking on what it has no room for. A nil function holds nothing back. They are asked for each
// call, from several goroutines.
type Brakes struct {
	Stand func() bool // May stand for election by itself.
	Lead  func() bool // May be given the leadership by the leader.
	// May take entries of the leader of a term, commands among them. Heartbeats and raft's own few entries pass always.
	Store func(term uint64, entries []*raft.Log) bool
	// May take a snapshot of this size from a leader.
	Install func(bytes int64) bool
}

var errBraked = errors.New("this node has no room")

// SetBrakes puts brakes on the transport.
//
// Raft has no way to tell a voter not to lead. Its calls can be left undone, though: a round of pre-votes that nobody hears
// of changes no term, and the voter goes on to answer those of others. REQUIRES: pre-vote is on.
func (s Safe) SetBrakes(b Brakes) { s.tap.brakes.Store(&b) }

func (b *Brakes) refuses(rpc raft.RPC) bool {
	if b == nil {
		return false
	}
	switch c := rpc.Command.(type) {
	case *raft.TimeoutNowRequest:
		return b.Lead != nil && !b.Lead()
	case *raft.AppendEntriesRequest:
		isCommand := func(l *raft.Log) bool { return l.Type == raft.LogCommand }
		return b.Store != nil && slices.ContainsFunc(c.Entries, isCommand) && !b.Store(c.Term, c.Entries)
	case *raft.InstallSnapshotRequest:
		return b.Install != nil && !b.Install(c.Size)
	}
	return false
}

// refuse answers a call with an error. What follows a snapshot's call on its connection must be read before.
func refuse(rpc raft.RPC) {
	if rpc.Reader != nil {
		_, _ = io.Copy(io.Discard, rpc.Reader) // The connection may be gone; so is the answer then.
	}
	rpc.Respond(nil, errBraked)
}
