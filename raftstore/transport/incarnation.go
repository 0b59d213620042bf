package transport

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/hashicorp/raft"
)

// IncarnationMark separates the node's id from the incarnation in a Raft server id: "n1~9f3c21d07a64be58" is node n1
// with one particular directory. Raft uses the incarnation; people and certificates use the node's id. A node that
// starts with an empty directory is a new incarnation, so Raft never treats a node that lost its disk as the voter it
// was: the votes and entries it promised to remember are gone.
//
// This file is the only place that joins and splits the two.
const IncarnationMark = "~"

// incarnationBytes is the number of random bytes in an incarnation.
const incarnationBytes = 8

// NodeIDBytesMax bounds the id of a node, in bytes. With IncarnationMark and 16 hexadecimal digits it must fit the 255
// bytes of a target in a connection's header.
const NodeIDBytesMax = targetBytesMax - len(IncarnationMark) - 2*incarnationBytes

// NewIncarnation returns a server id for a new directory of a node.
func NewIncarnation(node string) raft.ServerID {
	return raft.ServerID(node + IncarnationMark + RandomHex())
}

// RandomHex returns 8 random bytes as 16 hexadecimal digits.
func RandomHex() string {
	var b [incarnationBytes]byte
	rand.Read(b[:]) // Never fails.
	return hex.EncodeToString(b[:])
}

// NodeOf returns the node of an incarnation. In directories that are older than incarnations the server id is the
// node's id.
func NodeOf(id raft.ServerID) string {
	node, _, _ := strings.Cut(string(id), IncarnationMark)
	return node
}
