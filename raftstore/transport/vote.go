package transport

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/hashicorp/raft"
)

// Raft remembers the address of the candidate it voted for, not the server, and grants the vote once more to any server
// that asks from that address in the same term, without a look at its log. But addresses move: two servers that had the
// same one in turn could get a vote each, and the term two leaders. So what Raft sees as the address of a candidate,
// and stores, is the address, serverMark and a hash of the server's id. Nothing of that is sent: the voter adds the
// hash when a call arrives.
const (
	voteHashBytes = 8
	voteBytesMax  = 255 // BOUND: bytes that the tail guard stores of a vote; see package pebblelog.

	// AddressBytesMax bounds the address of a server, in bytes.
	AddressBytesMax = voteBytesMax - len(serverMark) - voteHashBytes
)

var errCandidate = errors.New("the address of a candidate must have 1 to 246 bytes")

// bindVote replaces the candidate's address in a call for a vote by the one that the vote is stored with.
func bindVote(call *raft.RequestVoteRequest) error {
	if len(call.Addr) == 0 || len(call.Addr) > AddressBytesMax {
		return errCandidate
	}
	hash := sha256.Sum256(call.ID)
	call.Addr = bytes.Join([][]byte{call.Addr, hash[:voteHashBytes]}, []byte(serverMark))
	return nil
}

// DecodePeer returns the address of a server. For a candidate it removes what bindVote added.
func (s Safe) DecodePeer(name []byte) raft.ServerAddress {
	address, _, _ := bytes.Cut(name, []byte(serverMark))
	return raft.ServerAddress(address)
}
