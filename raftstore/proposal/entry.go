package proposal

import (
	"encoding/binary"
	"hash/crc32"
)

// One Raft entry carries many commands:
//
//	ver u8 | crc32c u32 of the rest | count u32 | count * (len u32 | command)
//
// Numbers are big-endian.
const (
	entryVersion   = 1
	entryHeadBytes = 1 + 4 + 4
	commandHead    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendEntryHead(dst []byte) []byte {
	return append(dst, entryVersion, 0, 0, 0, 0, 0, 0, 0, 0)
}

func appendCommand(dst, cmd []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(cmd)))
	return append(dst, cmd...)
}

// sealEntry fills in the head of an entry once all its commands are appended.
func sealEntry(entry []byte, count int) {
	binary.BigEndian.PutUint32(entry[5:], uint32(count))
	binary.BigEndian.PutUint32(entry[1:], crc32.Checksum(entry[5:], castagnoli))
}

// EmptyEntry returns an entry without commands.
func EmptyEntry() []byte { return JoinEntry(nil) }

// JoinEntry returns an entry with the given commands.
func JoinEntry(cmds [][]byte) []byte {
	e := appendEntryHead(nil)
	for _, cmd := range cmds {
		e = appendCommand(e, cmd)
	}
	sealEntry(e, len(cmds))
	return e
}

// SplitEntry verifies an entry and appends its commands to dst. It returns ErrBadEntry for anything else. OWNERSHIP:
// the commands are slices of entry.
func SplitEntry(dst [][]byte, entry []byte) ([][]byte, error) {
	if len(entry) < entryHeadBytes || entry[0] != entryVersion ||
		binary.BigEndian.Uint32(entry[1:]) != crc32.Checksum(entry[5:], castagnoli) {
		return nil, ErrBadEntry
	}
	count, rest := binary.BigEndian.Uint32(entry[5:]), entry[entryHeadBytes:]
	for range count {
		if len(rest) < commandHead {
			return nil, ErrBadEntry
		}
		n := binary.BigEndian.Uint32(rest)
		rest = rest[commandHead:]
		if uint64(n) > uint64(len(rest)) {
			return nil, ErrBadEntry
		}
		dst = append(dst, rest[:n:n])
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return nil, ErrBadEntry
	}
	return dst, nil
}
