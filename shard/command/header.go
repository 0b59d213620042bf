package command

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Version is the version of the header.
const Version = 1

// HeaderLen is the length of the header: version u8, op u8, flags u8, level u8, count u32, now i64, crc32c u32,
// little-endian. level is the feature level from which the command may be proposed. The checksum covers the whole
// command except the checksum itself.
const HeaderLen = 20

// The offsets of single bytes in the header.
const (
	flagsAt = 2
	levelAt = 3
)

// Errors of reading a command.
var (
	// ErrUnreadable is returned for malformed input. Every replica answers such a command with Invalid and continues.
	ErrUnreadable = errors.New("unreadable command")
	// ErrUnknownVersion is returned for an intact command of a newer binary: an unknown kind, encoding or feature level.
	// Skipping it would make this replica differ from those that know it, so the node must not run until it is upgraded.
	ErrUnknownVersion = errors.New("command of an unknown version")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Command is an opened command: a checked header, and a body that is not decoded yet.
// OWNERSHIP: it aliases the bytes it was opened from.
type Command struct {
	Op        Op
	Needs     Level       // The feature level from which the command may be proposed.
	Count     uint32      // Number of records of an Events command, and of users of a StageSegment.
	NowMillis int64       // The proposer's clock in Unix milliseconds.
	Attempted bool        // The command is an attempt.
	Attempt   Attempt     // Set if Attempted.
	Notice    *Notice     // Nil for none.
	Entry     *AuditEntry // Nil for none.
	body      []byte
}

// Open checks length, checksum and version of a command. It returns ErrUnreadable or ErrUnknownVersion.
func Open(cmd []byte) (Command, error) {
	if len(cmd) < HeaderLen || checksum(cmd) != binary.LittleEndian.Uint32(cmd[16:]) {
		return Command{}, ErrUnreadable
	}
	needs, known := needsOf(cmd)
	if !known {
		return Command{}, ErrUnknownVersion
	}
	if needs < introduced[cmd[1]] {
		return Command{}, ErrUnreadable
	}
	c := Command{
		Op:        Op(cmd[1]),
		Needs:     needs,
		Count:     binary.LittleEndian.Uint32(cmd[4:]),
		NowMillis: int64(binary.LittleEndian.Uint64(cmd[8:])), // Two's complement both ways.
		Attempted: cmd[flagsAt]&flagAttempt != 0,
		body:      cmd[HeaderLen:],
	}
	if c.Attempted {
		var ok bool
		if c.body, c.Attempt, ok = splitAttempt(c.body); !ok {
			return Command{}, ErrUnreadable
		}
	}
	if cmd[flagsAt]&flagAuditEntry != 0 {
		var ok bool
		if c.body, c.Entry, ok = splitAuditEntry(c.body); !ok || needs < LevelAuditEntries {
			return Command{}, ErrUnreadable
		}
	}
	if cmd[flagsAt]&flagNotice != 0 {
		var ok bool
		if c.body, c.Notice, ok = splitNotice(c.body); !ok || needs < LevelNotices {
			return Command{}, ErrUnreadable
		}
	}
	return c, nil
}

func checksum(cmd []byte) uint32 {
	sum := crc32.Update(0, castagnoli, cmd[:16])
	return crc32.Update(sum, castagnoli, cmd[HeaderLen:])
}

// begin appends a header without a checksum. seal sets the checksum once the body is complete.
func begin(dst []byte, op Op, nowMillis int64, count int) (out []byte, at int) {
	at = len(dst)
	dst = append(dst, Version, byte(op), 0, byte(introduced[op]))
	dst = binary.LittleEndian.AppendUint32(dst, clampU32(count))
	dst = appendI64(dst, nowMillis)
	return append(dst, 0, 0, 0, 0), at
}

func seal(dst []byte, at int) []byte {
	binary.LittleEndian.PutUint32(dst[at+16:], checksum(dst[at:]))
	return dst
}

// sealAt is seal for a command whose members need a level.
func sealAt(dst []byte, at int, needs Level) []byte {
	dst[at+levelAt] = max(dst[at+levelAt], byte(needs)) // LevelNewest fits a byte.
	return seal(dst, at)
}

// decoder returns a Decoder for the body of a command. Its Err fails when the members need another level than the
// header states, so that a command has only one encoding.
func (c *Command) decoder() Decoder {
	needs := introduced[c.Op]
	if c.Notice != nil {
		needs = max(needs, LevelNotices)
	}
	if c.Entry != nil {
		needs = max(needs, LevelAuditEntries)
	}
	return Decoder{rest: c.body, ofLevel: true, level: c.Needs, needs: needs}
}

// list returns the number of elements that follow in the body, each of at least size bytes, or fails when the body is
// too short for them. REQUIRES: the caller has read what precedes the list.
func (c *Command) list(d *Decoder, size int) int {
	if uint64(c.Count) > uint64(len(d.rest)/size) {
		d.Fail()
		return 0
	}
	return int(c.Count)
}
