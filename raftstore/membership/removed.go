package membership

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// A node that an operator removed must stay away, also when it comes back as another incarnation with an empty
// directory. So the group records it in its replicated state, under keys of its own behind those of the state machine,
// where snapshots and backups carry it and the machine's digest does not cover it. An entry of this package writes it:
//
//	ver u8 | crc32c u32 of the rest | removed u8 | node
//
// BOUND: one key for each node that was ever removed and not admitted again.
const (
	removedVersion   = 2 // The first byte of such an entry; entryVersion is that of commands.
	removedHeadBytes = 1 + 4 + 1
)

// RemovedKey is the key that records a removed node. It is above every key of a state machine, whose last one begins
// with 0xFE.
func RemovedKey(node string) []byte { return append([]byte{ownSpace, 'R'}, node...) }

// ownSpace begins the keys of raftstore inside a group's state.
const ownSpace = 0xFF

func removedEntry(node string, removed bool) []byte {
	b := []byte{removedVersion, 0, 0, 0, 0, 0}
	if removed {
		b[5] = 1
	}
	b = append(b, node...)
	binary.BigEndian.PutUint32(b[1:], crc32.Checksum(b[5:], castagnoli))
	return b
}

// SplitRemoved decodes an entry that records or clears a removal; isRemoval is false for all other entries.
// It returns proposal.ErrBadEntry for one that is damaged.
func SplitRemoved(entry []byte) (node string, removed, isRemoval bool, err error) {
	if len(entry) == 0 || entry[0] != removedVersion {
		return "", false, false, nil
	}
	if len(entry) <= removedHeadBytes || binary.BigEndian.Uint32(entry[1:]) != crc32.Checksum(entry[5:], castagnoli) {
		return "", false, true, proposal.ErrBadEntry
	}
	return string(entry[removedHeadBytes:]), entry[5] == 1, true, nil
}

// setRemoved replicates that a node was removed, or that it may come back. REQUIRES: this node leads.
func (g *Group) setRemoved(node string, removed bool) error {
	if node == "" || len(node) > transport.NodeIDBytesMax {
		return errors.New("the node id is empty or too long")
	}
	if g.State.IsRemoved(node) == removed {
		return nil
	}
	return g.Raft.Apply(removedEntry(node, removed), changeTimeout).Error()
}
