package raftstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// A node that an operator removed must stay away, also when it comes back as another incarnation with an empty
// directory. So the group records it in its replicated state, under keys of its own behind those of the state machine,
// where snapshots and backups carry it and the machine's digest does not cover it. An entry of raftstore writes it:
//
//	ver u8 | crc32c u32 of the rest | removed u8 | node
//
// BOUND: one key for each node that was ever removed and not admitted again.
const (
	removedVersion   = 2 // The first byte of such an entry; entryVersion is that of commands.
	removedHeadBytes = 1 + 4 + 1
)

// removedKey is the key that records a removed node. It is above every key of a state machine, whose last one begins
// with 0xFE.
func removedKey(node string) []byte { return append([]byte{ownSpace, 'R'}, node...) }

// ownSpace begins the keys of this package inside a group's state.
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

// splitRemoved decodes an entry that records or clears a removal; isRemoval is false for all other entries.
func splitRemoved(entry []byte) (node string, removed, isRemoval bool, err error) {
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
	if g.isRemoved(node) == removed {
		return nil
	}
	return g.raft.Apply(removedEntry(node, removed), changeTimeout).Error()
}

// isRemoved reports whether this node's state records a node as removed.
func (g *Group) isRemoved(node string) bool {
	_, found := g.machine.state.Reader().Get(removedKey(node))
	return found
}

// applyRemoved applies an entry that records or clears a removal.
func (m *machine) applyRemoved(node string, removed bool) {
	if removed {
		m.batch.Set(removedKey(node), []byte{1})
	} else {
		m.batch.Delete(removedKey(node))
	}
}
