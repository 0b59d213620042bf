package raftstore

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/pebblelog"
)

// candidate is a server that stands for election.
type candidate struct {
	id, address string
	term        uint64
	last        uint64 // Its log ends here, ...
	lastTerm    uint64 // ... in this term.
}

// votes asks A for its vote.
func (b *speaker) votes(t *testing.T, s *Store, c candidate) bool {
	t.Helper()
	var answer raft.RequestVoteResponse
	err := b.trans.RequestVote(s.identity.Server, raft.ServerAddress(s.Group(1).streams.Addr().String()), &raft.RequestVoteRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte(c.id), Addr: []byte(c.address)},
		Term:      c.term, LastLogIndex: c.last, LastLogTerm: c.lastTerm,
	}, &answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Granted
}

// A power failure between raft's two writes of a vote must not join the new term with the old candidate: raft would grant that one the
// vote of the new term as a repeat, without a look at its log.
func TestHalfAVoteIsNotForTheCandidateBefore(t *testing.T) {
	t.Parallel() // It waits for seconds.
	fs := vfs.NewMem()
	b := diverged(t, fs)
	s := openA(t, fs, nil)
	complete := candidate{id: "B", address: b.address, term: 25, last: 20, lastTerm: 2}
	if !b.votes(t, s, complete) {
		t.Fatal("A does not vote for a candidate that has everything")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rewrite(t, fs, b.cluster, func(l *pebblelog.Log) error { // For another candidate, which is not written any more.
		return errors.Join(l.SetUint64([]byte("CurrentTerm"), 30), l.SetUint64([]byte("LastVoteTerm"), 30))
	})
	s = openA(t, fs, nil)
	if b.votes(t, s, candidate{id: "B", address: b.address, term: 30, last: 1, lastTerm: 1}) {
		t.Error("A votes for a candidate that lacks 19 entries")
	}
	if complete.term = 30; !b.votes(t, s, complete) {
		t.Error("A, which has not voted in this term, does not vote for a candidate that has everything")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
