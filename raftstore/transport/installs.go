package transport

import (
	"io"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// installs are the snapshots of leaders that raft has been handed and has not answered yet: raft does not say of a snapshot that it
// begins to write whether it is its own. BOUND: the open connections.
type installs struct {
	mu  sync.Mutex
	now []install
}

type install struct{ index, term uint64 }

// watch notes a snapshot until raft has answered its call.
func (t *tap) watch(rpc raft.RPC, x install) raft.RPC {
	i := &t.installs
	i.mu.Lock()
	i.now = append(i.now, x)
	i.mu.Unlock()
	to, answer := rpc.RespChan, make(chan raft.RPCResponse, 1)
	rpc.RespChan = answer
	t.done.Go(func() {
		select {
		case a := <-answer:
			to <- a // It has room for the one answer of a call.
		case <-t.stop:
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		at := slices.Index(i.now, x)
		i.now = slices.Delete(i.now, at, at+1)
	})
	return rpc
}

// Installs reports whether raft has a snapshot of a leader at hand that ends with this entry.
func (s Safe) Installs(index, term uint64) bool {
	i := &s.tap.installs
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Contains(i.now, install{index, term})
}

// SetHas sets what says whether this node is in a term and has applied an entry. A snapshot that ends with such an entry is answered as if
// it was installed, which is what its sender has to know: that this node has everything up to there.
//
// It comes when the answer to it was lost, or a small one because its call was given up. Raft would install it again: the state would go
// back, and acknowledged entries be deleted. To refuse it is not enough, for its leader would send it until it has a newer one. The term
// has to be that of the call, because answers also tell a leader that nobody has gone on to a later one.
func (s Safe) SetHas(has func(term, index uint64) bool) { s.tap.has.Store(&has) }

// answerLate answers a snapshot that is not needed. What follows its call on its connection must be read before.
func answerLate(rpc raft.RPC, term uint64) {
	_, err := io.Copy(io.Discard, rpc.Reader)
	rpc.Respond(&raft.InstallSnapshotResponse{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}, Term: term, Success: err == nil}, err)
}
