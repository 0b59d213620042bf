package forward

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore/leadership"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest/single"
)

// lone returns a group that Raft leads on this node, at an address that forward does not know as its own. cancel ends
// it as the store's end does, and end stops Raft as well.
func lone(t *testing.T) (g Group, cancel context.CancelFunc, end func()) {
	t.Helper()
	r := single.Leader(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	lead := leadership.New(leadership.Config{Raft: r, Context: ctx, Logger: slog.New(slog.DiscardHandler)})
	return Group{ID: 1, Lead: lead}, cancel, func() {
		cancel()
		if err := r.Shutdown().Error(); err != nil {
			t.Error(err)
		}
	}
}

// An outcome that is unknown when the store closes is an error with both reasons.
func TestUnknownAtTheEndOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, cancel, end := lone(t)
		err := g.Retry(t.Context(), false, func(context.Context, string) (string, error) {
			cancel()
			return "", proposal.ErrUnknown
		})
		if !errors.Is(err, proposal.ErrUnknown) || strings.Contains(err.Error(), "%!") || !strings.Contains(err.Error(), "closes") {
			t.Error(err)
		}
		end()
	})
}

// After an unknown outcome no error says that nothing was applied: the command is repeated until the caller's context
// ends.
func TestUnknownStaysUnknown(t *testing.T) {
	for _, first := range []bool{false, true} { // The unknown attempt is made by retry, or was made before it.
		for _, later := range []error{proposal.ErrTooLarge, proposal.ErrOverloaded, proposal.ErrNoSpace, proposal.ErrNotLeader, proposal.ErrClosed} {
			synctest.Test(t, func(t *testing.T) {
				g, _, end := lone(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				tries := 0
				err := g.Retry(ctx, first, func(context.Context, string) (string, error) {
					if tries++; tries == 1 && !first {
						return "", proposal.ErrUnknown
					}
					return "", later
				})
				if !errors.Is(err, proposal.ErrUnknown) || errors.Is(err, later) || ctx.Err() == nil || tries < 10 {
					t.Errorf("%v after an unknown outcome: %v after %d tries", later, err, tries)
				}
				end()
			})
		}
	}
}

// The wait for a leader with space begins when a leader had none, whatever the election before took.
func TestWaitForALeaderWithSpace(t *testing.T) {
	const election, poor = 5 * time.Second, 2 * time.Second
	for _, ends := range []bool{true, false} { // Whether another node leads at last.
		synctest.Test(t, func(t *testing.T) {
			g, _, end := lone(t)
			began := time.Now()
			err := g.Retry(t.Context(), false, func(context.Context, string) (string, error) {
				switch at := time.Since(began); {
				case at < election:
					return "", proposal.ErrNotLeader
				case at < election+poor || !ends:
					return "", proposal.ErrNoSpace
				}
				return "", nil
			})
			took := time.Since(began)
			if ends && err != nil {
				t.Errorf("refused after %v although a leader with space came: %v", took, err)
			}
			if !ends && (!errors.Is(err, proposal.ErrNoSpace) || took > election+noSpaceRetryMax+3*retryPauseMax) {
				t.Errorf("without one: %v after %v", err, took)
			}
			end()
		})
	}
}
