package transport

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/hashicorp/raft"
)

// Raft remembers the address of whom it voted for, not the server, and grants the vote once more to whoever asks from that address in the
// same term, without a look at its log. But addresses move: two servers that had the same one in turn could get a vote each,
// and the term two leaders. So what raft takes for the address of a candidate, and stores, is the address, aimMark and a hash of
// the server's id. Nothing of it is sent: the voter adds the hash when a call arrives.
const (
	voteHashBytes = 8
	voteBytesMax  = 255 // BOUND: what the tail guard keeps of a vote; see package pebblelog.

	// AddressBytesMax bounds the address of a server.
	AddressBytesMax = voteBytesMax - len(aimMark) - voteHashBytes
)

var errCandidate = errors.New("the address of a candidate must have 1 to 246 bytes")

// named gives a call for a vote the name by which the vote is remembered.
func named(call *raft.RequestVoteRequest) error {
	if len(call.Addr) == 0 || len(call.Addr) > AddressBytesMax {
		return errCandidate
	}
	hash := sha256.Sum256(call.ID)
	call.Addr = bytes.Join([][]byte{call.Addr, hash[:voteHashBytes]}, []byte(aimMark))
	return nil
}

// DecodePeer returns the address of a server, which for a candidate is only a part of its name.
func (s Safe) DecodePeer(name []byte) raft.ServerAddress {
	address, _, _ := bytes.Cut(name, []byte(aimMark))
	return raft.ServerAddress(address)
}
