package command

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Version is the first version of every command's encoding. Later ones stand in encodings.
const Version = 1

// HeaderLen is the length of the header: ver u8, op u8, flags u16, count u32, now i64, crc32c u32, little-endian. The
// checksum covers the whole command with the checksum's own bytes left out.
const HeaderLen = 20

// Errors of reading a command.
var (
	// ErrUnreadable is bad input: every replica answers it with Invalid and goes on.
	ErrUnreadable = errors.New("unreadable command")
	// ErrUnknownVersion is an intact command of a newer binary: an unknown kind, encoding or feature level. Skipping it would make this replica differ from those
	// that understand it, so the node must stay out until it is upgraded.
	ErrUnknownVersion = errors.New("command of an unknown version")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Command is an opened command: its header, checked, and its body, not yet read.
// OWNERSHIP: it aliases the bytes it was opened from.
type Command struct {
	Op        Op
	Version   uint8  // Of the encoding of the body.
	Needs     Level  // The feature level from which the encoding may be used.
	Count     uint32 // Elements of the command's list; 0 for commands without one.
	NowMillis int64  // The proposer's clock.
	Attempted bool   // It is an attempt: this one.
	Attempt   Attempt
	body      []byte
}

// Open checks length, checksum and version of a command.
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
		Attempted: cmd[2] == flagAttempt,
		body:      cmd[HeaderLen:],
	}
	if c.Attempted {
		var ok bool
		if c.body, c.Attempt, ok = splitAttempt(c.body); !ok {
			return Command{}, ErrUnreadable
		}
	}
	return c, nil
}

func checksum(cmd []byte) uint32 {
	sum := crc32.Update(0, castagnoli, cmd[:16])
	return crc32.Update(sum, castagnoli, cmd[HeaderLen:])
}

// begin appends a header without a checksum; seal fills the checksum in once the body is there.
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

// moreVersion is the version of a command that carries later members (more.go).
const moreVersion = 2

// sealMore is seal for a command that may carry later members.
func sealMore(dst []byte, at int, more bool) []byte {
	if more {
		dst[at] = moreVersion
	}
	return seal(dst, at)
}

// decoder reads the body of a command that may carry later members.
func (c *Command) decoder() Decoder { return Decoder{rest: c.body, plain: c.Version < moreVersion} }

// list starts reading a command whose body is Count elements of at least size bytes after a fixed prefix read by the
// caller.
func (c *Command) list(d *Decoder, size int) int {
	if uint64(c.Count) > uint64(len(d.rest)/size) {
		d.Fail()
		return 0
	}
	return int(c.Count)
}
