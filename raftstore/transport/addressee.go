package transport

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Raft counts an answer for the server that it asked, whoever gave it. But it asks an address, and there may live another
// server by now: a node that lost its disk comes back with the address of the voter it was, and it grants votes to anybody
// as long as it has no configuration. So an answer counts only when it bears the id that was asked; else it is an error,
// as if nobody had answered. Without this a wiped node elects leaders that lack what it had acknowledged.
//
// Nor must the calls arrive: a leader sends entries and snapshots to both incarnations until it has dropped the old one,
// and a snapshot for that one deletes the log behind it that the new one has acknowledged meanwhile; raft then panics at the
// missing entries, or worse, they were needed. The simulation found it. So a connection says in its header which server
// is meant, and another one refuses it. Raft asks by address; aim joins the id to it for the dialer, and connections are
// pooled by both.
var errAddressee = errors.New("another server answers at the address")

// aimMark stands between an address and the server that is meant.
const aimMark = "\x00"

func aim(id raft.ServerID, target raft.ServerAddress) raft.ServerAddress {
	return target + aimMark + raft.ServerAddress(id)
}

// from returns err, or an error when another server than id gave the answer.
func from(id raft.ServerID, h raft.RPCHeader, err error) error {
	if err == nil && string(h.ID) != string(id) {
		return fmt.Errorf("%w: %q instead of %q", errAddressee, h.ID, id)
	}
	return err
}

// staleWithin is how soon a call fails on a connection that its peer has closed.
const staleWithin = 200 * time.Millisecond

// fresh asks for a vote until the answer is not that of a dead connection. Those that are kept open die with the process at
// their other end, which is noticed when one is used; and a candidate asks each voter once, so a vote lost to the life
// before costs an election. Who is asked for the same vote twice gives the same answer.
func fresh(ask func() error) (err error) {
	began := time.Now()
	for range connsPerPeer + 1 {
		if err = ask(); err == nil || time.Since(began) > staleWithin {
			break
		}
	}
	return err
}

// RequestVote asks a peer for its vote.
func (s Safe) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	err := fresh(func() error { return s.quick.RequestVote(id, aim(id, target), args, resp) })
	return from(id, resp.RPCHeader, err)
}

// RequestPreVote asks a peer for its vote, unless this node does not stand.
func (s Safe) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if b := s.tap.brakes.Load(); b != nil && b.Stand != nil && !b.Stand() {
		resp.Term = args.Term
		return nil
	}
	err := fresh(func() error { return s.quick.RequestPreVote(id, aim(id, target), args, resp) })
	return from(id, resp.RPCHeader, err)
}

// TimeoutNow asks a follower to stand for election at once.
func (s Safe) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return s.quick.TimeoutNow(id, aim(id, target), args, resp)
}
