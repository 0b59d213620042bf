package forward

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// Pauses between two attempts to reach the leader.
const (
	retryPauseMin = 20 * time.Millisecond
	retryPauseMax = time.Second
	// noSpaceRetryMax is how long a caller waits for a leader with space after the first one had none. Elections before do
	// not count: the node without space may win one, and transfers the leadership at once.
	noSpaceRetryMax = 3 * time.Second
)

// Attempt tries once to get something done by the leader: this node when address is empty, else the node at address.
// hint is the leader's address as far as the asked node knows.
type Attempt func(ctx context.Context, address string) (hint string, err error)

// Retry repeats an attempt until it succeeds, the leader refuses for good, or ctx ends. A hint about the leader is
// followed once without a pause, and the news of a leader makes the pauses short again, because a new leader needs a
// moment until it is ready. unknown says that an attempt with an unknown outcome was made before.
//
// INVARIANT: an outcome that was unknown once stays unknown until the same bytes succeed: the error is then
// proposal.ErrUnknown and none that says that nothing was applied, whatever later attempts returned.
func (g Group) Retry(ctx context.Context, unknown bool, try Attempt) error {
	hint, followed := "", false
	var refused time.Time // When a leader first had no space.
	for pause := retryPauseMin; ; pause = min(2*pause, retryPauseMax) {
		address := hint
		if address == "" {
			address = g.Lead.Address()
		}
		next, err := g.attempt(ctx, address, try)
		switch {
		case err == nil:
			return nil
		case !unknown && (errors.Is(err, proposal.ErrTooLarge) || errors.Is(err, proposal.ErrClosed) || errors.Is(err, proposal.ErrOverloaded)):
			return err
		case errors.Is(err, proposal.ErrNoSpace): // The leader transfers its leadership, or no node has space.
			if refused.IsZero() {
				refused = time.Now()
			}
			if !unknown && time.Since(refused) > noSpaceRetryMax {
				return proposal.ErrNoSpace
			}
		case errors.Is(err, proposal.ErrUnknown):
			unknown = true
		}
		hint = ""
		if next != "" && next != address && !followed {
			hint, followed = next, true
			continue
		}
		moved := g.Lead.Changed()
		if !g.Lead.Wait(ctx, rand.N(pause)+pause/2) { //nolint:gosec // jitter, no secret.
			why := ctx.Err()
			switch {
			case unknown && why == nil:
				return fmt.Errorf("%w: the store closes", proposal.ErrUnknown)
			case unknown:
				return fmt.Errorf("%w: %w", proposal.ErrUnknown, why)
			case why == nil:
				return proposal.ErrClosed
			default:
				return fmt.Errorf("%w: %w", proposal.ErrNotLeader, why)
			}
		}
		select {
		case <-moved:
			pause = retryPauseMin / 2 // The loop doubles it at once.
		default:
		}
		followed = false
	}
}

// attempt calls try for this node when it leads, else for the node at address.
func (g Group) attempt(ctx context.Context, address string, try Attempt) (hint string, err error) {
	if g.Lead.Ready() {
		return try(ctx, "")
	}
	if address == "" || address == g.Own {
		return "", proposal.ErrNotLeader
	}
	return try(ctx, address)
}
