package transport

import (
	"io"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// installs holds the snapshots of leaders that Raft has received and not answered yet: when Raft begins to write a
// snapshot, it does not say whether it is one of a leader. BOUND: the open connections.
type installs struct {
	mu     sync.Mutex
	active []install
}

type install struct{ index, term uint64 }

// trackInstall records a snapshot until Raft has answered its call.
func (t *rpcFilter) trackInstall(rpc raft.RPC, x install) raft.RPC {
	i := &t.installs
	i.mu.Lock()
	i.active = append(i.active, x)
	i.mu.Unlock()
	to, answer := rpc.RespChan, make(chan raft.RPCResponse, 1)
	rpc.RespChan = answer
	t.done.Go(func() {
		select {
		case a := <-answer:
			to <- a // Its buffer holds the one answer of a call.
		case <-t.stop:
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		at := slices.Index(i.active, x)
		i.active = slices.Delete(i.active, at, at+1)
	})
	return rpc
}

// IsInstalling reports whether Raft processes a snapshot of a leader that ends with this entry.
func (s Safe) IsInstalling(index, term uint64) bool {
	i := &s.filter.installs
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Contains(i.active, install{index, term})
}

// SetHasApplied sets the function that reports whether this node is in a term and has applied an entry. A snapshot that
// ends with such an entry is answered as if it were installed, which is what its sender has to know: that this node has
// everything up to there.
//
// Such a snapshot arrives when the answer to it was lost, or when a small one was sent again because its call was given
// up. Raft would install it again: the state would go back, and acknowledged entries be deleted
// (TestLateSnapshotChangesNothing). A refusal is not enough, because the leader would send it until it has a newer one.
// The term has to be that of the call, because answers also show a leader that its follower has not gone on to a later
// term.
func (s Safe) SetHasApplied(has func(term, index uint64) bool) { s.filter.hasApplied.Store(&has) }

// answerLate answers a snapshot that is not needed. The bytes that follow its call on its connection are read first.
func answerLate(rpc raft.RPC, term uint64) {
	_, err := io.Copy(io.Discard, rpc.Reader)
	rpc.Respond(&raft.InstallSnapshotResponse{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}, Term: term, Success: err == nil}, err)
}
