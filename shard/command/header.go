package command

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Version is the first version of every command's encoding. The table encodings lists the later ones.
const Version = 1

// HeaderLen is the length of the header: ver u8, op u8, flags u16, count u32, now i64, crc32c u32, little-endian. The
// checksum covers the whole command except the checksum itself.
const HeaderLen = 20

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
	Version   uint8   // Version of the body's encoding.
	Needs     Level   // The feature level from which the encoding may be used.
	Count     uint32  // Number of elements of the command's list; 0 for commands without a list.
	NowMillis int64   // The proposer's clock in Unix milliseconds.
	Attempted bool    // The command is an attempt.
	Attempt   Attempt // Set if Attempted.
	Notice    *Notice // Nil for none.
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
	c := Command{
		Op:        Op(cmd[1]),
		Version:   cmd[0],
		Needs:     needs,
		Count:     binary.LittleEndian.Uint32(cmd[4:]),
		NowMillis: int64(binary.LittleEndian.Uint64(cmd[8:])), //nolint:gosec // two's complement both ways.
		Attempted: cmd[2]&flagAttempt != 0,
		body:      cmd[HeaderLen:],
	}
	if c.Attempted {
		var ok bool
		if c.body, c.Attempt, ok = splitAttempt(c.body); !ok {
			return Command{}, ErrUnreadable
		}
	}
	if cmd[2]&flagNotice != 0 {
		var ok bool
		if c.body, c.Notice, ok = splitNotice(c.body); !ok {
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
	dst = append(dst, Version, byte(op), 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, clampU32(count))
	dst = appendI64(dst, nowMillis)
	return append(dst, 0, 0, 0, 0), at
}

func seal(dst []byte, at int) []byte {
	binary.LittleEndian.PutUint32(dst[at+16:], checksum(dst[at:]))
	return dst
}

// moreVersion is the encoding version of a command that carries later members (later_members.go).
const moreVersion = 2

// sealMore is seal for a command that may carry later members; more says whether it does.
func sealMore(dst []byte, at int, more bool) []byte {
	if more {
		dst[at] = moreVersion
	}
	return seal(dst, at)
}

// decoder returns a Decoder for the body of a command that may carry later members.
func (c *Command) decoder() Decoder {
	return Decoder{rest: c.body, baseMembersOnly: c.Version < moreVersion}
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
