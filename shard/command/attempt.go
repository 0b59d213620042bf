package command

import "encoding/binary"

// Attempt makes a management command one that is applied at most once. Its proposer repeats a command whose outcome it does
// not know, with the same bytes, and so does everything between the proposer and the log. Commands about things with ids do
// nothing when they are repeated; a change of what is there already, such as a PATCH, would undo what somebody else changed
// in between. So the command says which attempt it is, and the machine answers a repeat as it answered the first time.
//
// An attempt is a flag in the header and 24 bytes at the end of the body: id 16, seen u64.
type Attempt struct {
	ID [16]byte // Random, drawn once by the proposer.
	// Seen is the turn of the group's state (shard.Books.Turn) that the proposer saw before it sent the command for the first
	// time. A command that comes too many turns later is refused as Expired, because the machine no longer knows whether it has
	// applied it.
	Seen uint64
}

const (
	flagAttempt = 1
	attemptLen  = 16 + 8
)

// AppendAttempt makes a command an attempt. REQUIRES: it is a management command and no attempt yet. OWNERSHIP: cmd belongs to
// the result.
func AppendAttempt(cmd []byte, a Attempt) []byte {
	cmd[2] = flagAttempt
	cmd = append(cmd, a.ID[:]...)
	return seal(binary.LittleEndian.AppendUint64(cmd, a.Seen), 0)
}

// attempts reports whether commands of a kind may be attempts. The others are about events, which have ids of their own, or
// about what never goes back: a repeat of them changes nothing.
func (op Op) attempts() bool {
	switch op {
	case OpNoop, OpAdvance, OpEvents, OpBootstrap, OpSetFeature:
		return false
	default:
		return true
	}
}

// splitAttempt takes the attempt off the end of a body.
func splitAttempt(body []byte) (rest []byte, a Attempt, ok bool) {
	if len(body) < attemptLen {
		return nil, a, false
	}
	at := len(body) - attemptLen
	a.ID = [16]byte(body[at:])
	a.Seen = binary.LittleEndian.Uint64(body[at+16:])
	return body[:at:at], a, true
}
