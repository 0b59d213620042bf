package pebblelog

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// Key spaces of raftlog/. The group follows big-endian, so all keys of a group in one space are one range.
const (
	spaceEntry  = 0x01 // group u16 | index u64
	spaceStable = 0x02 // group u16 | name
	spaceMeta   = 0x03 // group u16 | name
)

// nodeGroup is the group number in keys that belong to the node.
const nodeGroup = 0xFFFF

const entryVersion = 1

// entryFixedBytes is the length of an encoded entry's members of fixed length.
const entryFixedBytes = 1 + 8 + 1 + 8

var errBadEntry = errors.New("raftlog: entry cannot be decoded")

func entryKey(dst []byte, group uint16, index uint64) []byte {
	dst = append(dst, spaceEntry)
	dst = binary.BigEndian.AppendUint16(dst, group)
	return binary.BigEndian.AppendUint64(dst, index)
}

// entryKeyBytes is the length of an entry's key.
const entryKeyBytes = 1 + 2 + 8

func nameKey(space byte, group uint16, name string) []byte {
	dst := binary.BigEndian.AppendUint16([]byte{space}, group)
	return append(dst, name...)
}

// appendEntry encodes every field of an entry but its index, which is in the key:
//
//	ver u8 | term u64 | type u8 | appendedAt i64 | uvarint len(ext) | ext | data
//
// big-endian; appendedAt is in Unix nanoseconds, 0 for the zero time.
func appendEntry(dst []byte, l *raft.Log) []byte {
	dst = append(dst, entryVersion)
	dst = binary.BigEndian.AppendUint64(dst, l.Term)
	dst = append(dst, byte(l.Type))
	var at int64
	if !l.AppendedAt.IsZero() {
		at = l.AppendedAt.UnixNano()
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(at))
	dst = binary.AppendUvarint(dst, uint64(len(l.Extensions)))
	dst = append(dst, l.Extensions...)
	return append(dst, l.Data...)
}

// entryBytesOf is the length of what appendEntry appends.
func entryBytesOf(l *raft.Log) int {
	var length [binary.MaxVarintLen64]byte
	return entryFixedBytes + binary.PutUvarint(length[:], uint64(len(l.Extensions))) + len(l.Extensions) + len(l.Data)
}

// decodeEntry decodes an entry into l. OWNERSHIP: l keeps copies, not b.
func decodeEntry(l *raft.Log, index uint64, b []byte) error {
	if len(b) < entryFixedBytes+1 || b[0] != entryVersion {
		return errBadEntry
	}
	ext, n := binary.Uvarint(b[entryFixedBytes:])
	if n <= 0 || ext > uint64(len(b)-entryFixedBytes-n) {
		return errBadEntry
	}
	rest := append([]byte(nil), b[entryFixedBytes+n:]...)
	*l = raft.Log{Index: index, Term: binary.BigEndian.Uint64(b[1:]), Type: raft.LogType(b[9])}
	if at := int64(binary.BigEndian.Uint64(b[10:])); at != 0 {
		l.AppendedAt = time.Unix(0, at)
	}
	if ext > 0 {
		l.Extensions = rest[:ext:ext]
	}
	if data := rest[ext:]; len(data) > 0 {
		l.Data = data
	}
	return nil
}
