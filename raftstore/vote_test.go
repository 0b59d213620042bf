package raftstore

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// candidate is a server that campaigns.
type candidate struct {
	id, address string
	term        uint64
	last        uint64 // The last index of its log.
	lastTerm    uint64 // The term of that entry.
}

// votes asks A for its vote.
func (b *scriptedLeader) votes(t *testing.T, s *Store, c candidate) bool {
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

// A power failure between Raft's two writes of a vote must not join the new term with the old candidate: Raft would
// grant that one the vote of the new term as a repetition, without a look at its log.
func TestHalfAVoteIsNotForTheCandidateBefore(t *testing.T) {
	t.Parallel() // It waits for seconds.
	fs := vfs.NewMem()
	b := diverged(t, fs, 20)
	s := openA(t, fs, nil)
	complete := candidate{id: "B", address: b.address, term: 25, last: 20, lastTerm: 2}
	if !b.votes(t, s, complete) {
		t.Fatal("A does not vote for a candidate that has everything")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rewrite(t, fs, b.cluster, func(l *pebblelog.Log) error { // A vote for another candidate, whose name was not written.
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

// Raft remembers the address of the candidate it voted for. Another server that has the address by now does not get the
// vote of the same term, and the server that had it may ask again. The longest address still fits the tail guard; a
// longer one is refused by the voter, and as an own address.
func TestOneVoteInATermWhoeverHasTheAddress(t *testing.T) {
	t.Parallel() // It waits for seconds.
	fs := vfs.NewMem()
	b := diverged(t, fs, 20)
	rewrite(t, fs, b.cluster, func(l *pebblelog.Log) error {
		three := append(slices.Clone(b.servers().Servers), raft.Server{ID: "C", Address: "c"})
		return l.StoreLog(&raft.Log{
			Index: 21, Term: 2, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(raft.Configuration{Servers: three}),
		})
	})
	s := openA(t, fs, nil)
	for i, address := range []string{b.address, strings.Repeat("a", transport.AddressBytesMax)} {
		c := candidate{id: "B", address: address, term: 30 + uint64(i), last: 30, lastTerm: 29}
		for _, step := range []struct {
			id   string
			want bool
		}{{"B", true}, {"C", false}, {"B", true}} {
			if c.id = step.id; b.votes(t, s, c) != step.want {
				t.Errorf("term %d: %s gets the vote: %v", c.term, c.id, !step.want)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	long := Config{Advertise: strings.Repeat("a", transport.AddressBytesMax+1)}
	if err := long.withDefaults().validate(); err == nil || !strings.Contains(err.Error(), "has 247 bytes, at most 246") {
		t.Errorf("an address that no vote has room for is taken: %v", err)
	}
}
