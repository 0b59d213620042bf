package raftstore

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/hashicorp/raft"
)

// Raft knows an incarnation of a node, people and certificates know the node: "n1~9f3c21d07a64be58" is n1 with one
// particular directory. Whoever starts with an empty directory is a new incarnation, so raft never takes a node that lost
// its disk for the voter it was: the votes and entries it promised to remember are gone.
//
// This file is the only place that joins and splits the two.
const incarnationMark = "~"

// incarnationBytes are random.
const incarnationBytes = 8

func newIncarnation(node string) raft.ServerID {
	return raft.ServerID(node + incarnationMark + randomHex())
}

// randomHex is unlike any other.
func randomHex() string {
	var b [incarnationBytes]byte
	rand.Read(b[:]) // Never fails.
	return hex.EncodeToString(b[:])
}

// nodeOf is the node of an incarnation. Directories from before incarnations have the node's id itself.
func nodeOf(id raft.ServerID) string {
	node, _, _ := strings.Cut(string(id), incarnationMark)
	return node
}

// nodeOfText is nodeOf for those who do not know raft's types.
func nodeOfText(server string) string { return nodeOf(raft.ServerID(server)) }
