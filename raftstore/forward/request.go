package forward

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// Propose sends a command to the node at address and returns its result and the index of its entry, or the address of
// another node that may lead (hint) and one of the errors of package proposal.
func (l *Client) Propose(ctx context.Context, g Group, address string, cmd []byte) (result []byte, index uint64, hint string, err error) {
	result, hint, err = l.forward(ctx, g, address, opPropose, cmd)
	if err != nil {
		return nil, 0, hint, err
	}
	if len(result) < indexBytes { // The answer cannot be decoded, and the command may be applied.
		return nil, 0, "", fmt.Errorf("%w: an answer of %d bytes", proposal.ErrUnknown, len(result))
	}
	return result[indexBytes:], binary.BigEndian.Uint64(result), "", nil
}

// ReadIndex asks the node at address for an index whose entries include every command that was answered before the
// call. Errors and hint are those of Propose.
func (l *Client) ReadIndex(ctx context.Context, g Group, address string) (index uint64, hint string, err error) {
	result, hint, err := l.forward(ctx, g, address, opReadIndex, nil)
	if err == nil && len(result) != indexBytes {
		return 0, "", fmt.Errorf("%w: a read index of %d bytes", proposal.ErrNotLeader, len(result))
	}
	if err != nil {
		return 0, hint, err
	}
	return binary.BigEndian.Uint64(result), "", nil
}

// forward sends one request to the node at address and maps the answer to the errors of package proposal.
func (l *Client) forward(ctx context.Context, g Group, address string, op operation, payload []byte) (result []byte, hint string, err error) {
	f, err := l.request(ctx, g, address, op, payload)
	switch {
	case errors.Is(err, proposal.ErrOverloaded):
		return nil, "", err
	case errors.Is(err, errNotSent):
		return nil, "", fmt.Errorf("%w: %w", proposal.ErrNotLeader, err)
	case err != nil:
		return nil, "", fmt.Errorf("%w: %w", proposal.ErrUnknown, err)
	}
	switch f.status {
	case statusOK:
		return f.payload, "", nil
	case statusNotLeader:
		return nil, string(f.payload), proposal.ErrNotLeader
	case statusOverload:
		return nil, "", proposal.ErrOverloaded
	case statusTooLarge:
		return nil, "", proposal.ErrTooLarge
	case statusNoSpace:
		return nil, "", proposal.ErrNoSpace
	default:
		return nil, "", proposal.ErrUnknown
	}
}
