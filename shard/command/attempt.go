package command

import "encoding/binary"

// Attempt identifies a management command so that it is applied at most once. The proposer repeats a command whose
// outcome is unknown, with the same bytes, and so does the code between the proposer and the log. Repeating a command
// that creates an object with an id changes nothing, but repeating a change of an existing object, such as a PATCH,
// would undo later changes by others. So the command carries an id, and the machine answers a repeat as it answered the
// first time.
//
// An attempt is encoded as a flag in the header and 24 bytes at the end of the body: id 16 bytes, seen u64.
type Attempt struct {
	ID [16]byte // Random, chosen once by the proposer.
	// Seen is the turn of the group's state (shard.Queries.Turn) that the proposer saw before it first sent the command. A
	// command that is applied too many turns later is refused as Expired, because the machine no longer knows whether it
	// has applied it.
	Seen uint64
}

const (
	flagAttempt = 1
	attemptLen  = 16 + 8
)

// AppendAttempt turns a command into an attempt. REQUIRES: it is a management command and not an attempt yet.
// OWNERSHIP: the result reuses the memory of cmd.
func AppendAttempt(cmd []byte, a Attempt) []byte {
	cmd[flagsAt] |= flagAttempt
	cmd = append(cmd, a.ID[:]...)
	return seal(binary.LittleEndian.AppendUint64(cmd, a.Seen), 0)
}

// mayBeAttempt reports whether commands of a kind may be attempts. Repeats of the other kinds change nothing anyway:
// events have ids of their own, paces have numbers, and the clock, the feature level and the bootstrap never go back.
func (op Op) mayBeAttempt() bool {
	switch op {
	case OpNoop, OpAdvance, OpEvents, OpBootstrap, OpSetFeature, OpPace:
		return false
	default:
		return true
	}
}

// splitAttempt splits the attempt off the end of a body. ok is false when the body is too short.
func splitAttempt(body []byte) (rest []byte, a Attempt, ok bool) {
	if len(body) < attemptLen {
		return nil, a, false
	}
	at := len(body) - attemptLen
	a.ID = [16]byte(body[at:])
	a.Seen = binary.LittleEndian.Uint64(body[at+16:])
	return body[:at:at], a, true
}
