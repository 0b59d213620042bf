package raftstore

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/hashicorp/raft"
)

// incarnationMark separates the node's id from the incarnation in a Raft server id: "n1~9f3c21d07a64be58" is node n1
// with one particular directory. Raft uses the incarnation; people and certificates use the node's id. A node that
// starts with an empty directory is a new incarnation, so Raft never treats a node that lost its disk as the voter it
// was: the votes and entries it promised to remember are gone.
//
// This file is the only place that joins and splits the two.
const incarnationMark = "~"

// incarnationBytes is the number of random bytes in an incarnation.
const incarnationBytes = 8

// newIncarnation returns a server id for a new directory of a node.
func newIncarnation(node string) raft.ServerID {
	return raft.ServerID(node + incarnationMark + randomHex())
}

// randomHex returns incarnationBytes random bytes in hexadecimal.
func randomHex() string {
	var b [incarnationBytes]byte
	rand.Read(b[:]) // Never fails.
	return hex.EncodeToString(b[:])
}

// nodeOf returns the node of an incarnation. In directories that are older than incarnations the server id is the
// node's id.
func nodeOf(id raft.ServerID) string {
	node, _, _ := strings.Cut(string(id), incarnationMark)
	return node
}

// nodeOfText is nodeOf for callers that do not use Raft's types.
func nodeOfText(server string) string { return nodeOf(raft.ServerID(server)) }
