package raftstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A node that an operator removed must stay away, also when it comes back as another incarnation with an empty directory.
// So the group remembers it in its replicated state, under keys of its own behind those of the state machine, where
// snapshots and backups carry it. It is written by an entry of raftstore itself:
//
//	ver u8 | crc32c u32 of the rest | removed u8 | node
//
// BOUND: one key for each node that was ever removed and not admitted again.
const (
	removedVersion   = 2 // Of an entry.
	removedHeadBytes = 1 + 4 + 1
)

// removedKey is above every key of a state machine: their last byte string is 0xFE….
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

// splitRemoved reads such an entry; ours is false for all others.
func splitRemoved(entry []byte) (node string, removed, ours bool, err error) {
	if len(entry) == 0 || entry[0] != removedVersion {
		return "", false, false, nil
	}
	if len(entry) <= removedHeadBytes || binary.BigEndian.Uint32(entry[1:]) != crc32.Checksum(entry[5:], castagnoli) {
		return "", false, true, errBadEntry
	}
	return string(entry[removedHeadBytes:]), entry[5] == 1, true, nil
}

// setRemoved replicates that a node was removed, or may come back. REQUIRES: this node leads.
func (g *Group) setRemoved(node string, removed bool) error {
	if node == "" || len(node) > nodeIDBytesMax {
		return errors.New("the node has no name, or one too long")
	}
	if g.isRemoved(node) == removed {
		return nil
	}
	return g.raft.Apply(removedEntry(node, removed), changeTimeout).Error()
}

// isRemoved reports what this node's state says.
func (g *Group) isRemoved(node string) bool {
	_, found := g.machine.state.Reader().Get(removedKey(node))
	return found
}

// applyRemoved writes what such an entry says.
func (m *machine) applyRemoved(node string, removed bool) {
	if removed {
		m.batch.Set(removedKey(node), []byte{1})
	} else {
		m.batch.Delete(removedKey(node))
	}
}
