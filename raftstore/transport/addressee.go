package transport

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Raft counts an answer for the server that it called, whoever gave it. But it calls an address, where another server
// may answer by now: a node that lost its disk comes back with the address of the voter it was, and it grants votes to
// anybody as long as it has no configuration. So an answer counts only when it carries the id that was called; else it
// is an error, as if no answer had come. Without this a wiped node elects leaders that lack what it had acknowledged.
//
// The calls must not arrive either: a leader sends entries and snapshots to both incarnations until it has removed the
// old one, and a snapshot for that one deletes the log behind it that the new one has acknowledged meanwhile; Raft then
// panics at the missing entries, or they are lost. The simulation found it. So a connection names in its header the
// server that is meant, and another server refuses it. Raft calls an address; withServer joins the id to it for the
// dialer, and connections are pooled by both.
var errAddressee = errors.New("another server answers at the address")

// serverMark separates an address from the server that is meant.
const serverMark = "\x00"

// withServer joins the id of the server that is meant to an address.
func withServer(id raft.ServerID, target raft.ServerAddress) raft.ServerAddress {
	return target + serverMark + raft.ServerAddress(id)
}

// checkResponder returns err, or an error when another server than id gave the answer.
func checkResponder(id raft.ServerID, h raft.RPCHeader, err error) error {
	if err == nil && string(h.ID) != string(id) {
		return fmt.Errorf("%w: %q instead of %q", errAddressee, h.ID, id)
	}
	return err
}

// staleWithin is how soon a call fails on a connection that its peer has closed.
const staleWithin = 200 * time.Millisecond

// retryStaleConns repeats a call for a vote while it fails as a call on a dead connection does. Pooled connections die
// with the process at their other end, which is noticed only when one is used; and a candidate asks each voter once, so
// a vote that is lost to an old connection costs an election. A voter that is asked twice for the same vote gives the
// same answer.
func retryStaleConns(ask func() error) (err error) {
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
	err := retryStaleConns(func() error { return s.quick.RequestVote(id, withServer(id, target), args, resp) })
	return checkResponder(id, resp.RPCHeader, err)
}

// RequestPreVote asks a peer for its pre-vote, unless Admission.MayCampaign forbids it: then it answers for the peer
// without a vote.
func (s Safe) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if b := s.filter.admission.Load(); b != nil && b.MayCampaign != nil && !b.MayCampaign() {
		resp.Term = args.Term
		return nil
	}
	err := retryStaleConns(func() error { return s.quick.RequestPreVote(id, withServer(id, target), args, resp) })
	return checkResponder(id, resp.RPCHeader, err)
}

// TimeoutNow asks a follower to campaign at once.
func (s Safe) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	err := s.quick.TimeoutNow(id, withServer(id, target), args, resp)
	if err != nil {
		s.filter.timeoutNowFailed.add(id)
	}
	return err
}

// TimeoutNowFailures is the number of calls of TimeoutNow to a follower that failed.
func (s Safe) TimeoutNowFailures(id raft.ServerID) uint64 { return s.filter.timeoutNowFailed.of(id) }

// serverCounts counts something for each server. BOUND: the servers that were members since the process started.
type serverCounts struct {
	mu     sync.Mutex
	counts map[raft.ServerID]uint64
}

func (c *serverCounts) add(id raft.ServerID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[raft.ServerID]uint64{}
	}
	c.counts[id]++
}

func (c *serverCounts) of(id raft.ServerID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[id]
}
