package fsck

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// logSummary describes the raft log of a group.
type logSummary struct {
	first, last uint64
	entries     int64
	commands    int64
	lastCommand uint64 // Index of the last entry with commands.
}

// Parts of the log database, the byte before the group's number.
const (
	logEntry = 0x01
	logMeta  = 0x03
)

func logKey(space byte, id uint16, rest ...byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{space}, id), rest...)
}

// readLog reads every entry of a group: indexes must be consecutive, terms must not fall, and commands must be intact.
// The stored bounds of the log must match its entries.
func (d *directory) readLog(r *Report, id uint16) (s logSummary) {
	place := fmt.Sprintf("group %d, raft log", id)
	var term uint64
	err := scan(d.log, logKey(logEntry, id), logKey(logEntry, id+1), func(key, value []byte) bool {
		if len(key) != 3+8 {
			r.problem(place, "key %x is malformed", key)
			return true
		}
		index := binary.BigEndian.Uint64(key[3:])
		switch {
		case s.entries == 0:
			s.first = index
		case index != s.last+1:
			r.problem(place, "entries %d to %d are missing", s.last+1, index-1)
		}
		s.last = index
		s.entries++
		e, ok := readEntry(value)
		if !ok {
			r.problem(place, "entry %d cannot be decoded", index)
			return true
		}
		if e.term < term {
			r.problem(place, "entry %d has term %d, the one before has term %d", index, e.term, term)
		}
		term = e.term
		if e.kind != 0 { // It is a configuration or empty.
			return true
		}
		s.lastCommand = index
		n, why := readCommands(e.data)
		s.commands += n
		if why != "" {
			r.problem(place, "entry %d: %s", index, why)
		}
		return true
	})
	if err != nil {
		r.problem(place, "after entry %d: %v", s.last, err)
	}
	for name, found := range map[string]uint64{"first": s.first, "last": s.last} {
		if kept := d.logBound(id, name); kept != found {
			r.problem(place, "its %s entry is stored as %d and is %d", name, kept, found)
		}
	}
	return s
}

func (d *directory) logBound(id uint16, name string) uint64 {
	value, closer, err := d.log.Get(logKey(logMeta, id, []byte(name)...))
	if err != nil {
		return 0
	}
	defer func() { _ = closer.Close() }() // Read only.
	if len(value) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(value)
}

// entry is an entry of the log, big-endian: ver u8 | term u64 | type u8 | appendedAt i64 | uvarint len(ext) | ext |
// data.
type entry struct {
	term uint64
	kind uint8
	data []byte
}

func readEntry(b []byte) (e entry, ok bool) {
	const fixed = 1 + 8 + 1 + 8
	if len(b) < fixed || b[0] != 1 {
		return e, false
	}
	e.term, e.kind = binary.BigEndian.Uint64(b[1:]), b[9]
	r := reader{rest: b[fixed:]}
	r.text()
	e.data = r.rest
	return e, !r.bad
}

// readCommands counts the commands of an entry, big-endian: ver u8 | crc32c u32 of the rest | count u32 | count * (len
// u32 | command). Each command has its own checksum at offset 16, over everything but the checksum. Version 2 is an
// entry of the replication without commands: ver u8 | crc32c u32 of the rest | removed u8 | node.
func readCommands(b []byte) (n int64, why string) {
	const entryHead, commandHead = 9, 20
	if len(b) > 6 && b[0] == 2 {
		if binary.BigEndian.Uint32(b[1:]) != crc32.Checksum(b[5:], castagnoli) {
			return 0, "it fails its checksum"
		}
		return 0, ""
	}
	if len(b) < entryHead || b[0] != 1 {
		return 0, "its commands cannot be decoded"
	}
	if binary.BigEndian.Uint32(b[1:]) != crc32.Checksum(b[5:], castagnoli) {
		return 0, "its commands fail their checksum"
	}
	count, rest := binary.BigEndian.Uint32(b[5:]), b[entryHead:]
	for range count {
		if len(rest) < 4 || uint64(binary.BigEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return n, "it ends within a command"
		}
		size := binary.BigEndian.Uint32(rest)
		cmd := rest[4 : 4+size]
		rest = rest[4+size:]
		n++
		if len(cmd) < commandHead {
			return n, fmt.Sprintf("command %d is too short", n)
		}
		sum := crc32.Update(crc32.Checksum(cmd[:16], castagnoli), castagnoli, cmd[commandHead:])
		if sum != binary.LittleEndian.Uint32(cmd[16:]) {
			return n, fmt.Sprintf("command %d fails its checksum", n)
		}
	}
	if len(rest) > 0 {
		return n, "bytes follow its commands"
	}
	return n, ""
}
