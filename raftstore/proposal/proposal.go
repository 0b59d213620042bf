// Package proposal packs the commands of many callers into few Raft entries, and names the errors that say what became
// of a command. It knows Raft by its Apply method only, and carries the commands as opaque bytes.
package proposal

import "errors"

// Errors of a command. The first group means that it was not applied and never will be. ErrUnknown means that it may be
// applied, so the caller repeats it with the same ids, never with new ones.
var (
	ErrNotLeader  = errors.New("this node does not lead the group; nothing was applied")
	ErrOverloaded = errors.New("too many commands are waiting; nothing was applied")
	ErrTooLarge   = errors.New("the command is too large; nothing was applied")
	ErrNoSpace    = errors.New("the disk of the leader is nearly full; nothing was applied")
	ErrClosed     = errors.New("the store is closed; nothing was applied")

	ErrUnknown = errors.New("the outcome is unknown; repeat with the same ids")
)

// ErrBadEntry means that a Raft entry cannot be decoded: its checksum or its structure is wrong.
var ErrBadEntry = errors.New("raft entry cannot be decoded")
