package leadership

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest/single"
)

// A store that closes does not wait for a transfer of leadership, and does not call Raft for it again and again.
func TestBarrierEndsWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := single.Leader(t, nil)
		g := New(Config{Raft: r, Context: ctx, Logger: slog.New(slog.DiscardHandler)})
		asked := 0
		err := g.retryDuringTransfer(func() error {
			switch asked++; {
			case asked == 3:
				cancel()
			case asked > 100:
				t.Error("raft is asked without a pause")
				return proposal.ErrClosed
			}
			return raft.ErrLeadershipTransferInProgress
		})
		if !errors.Is(err, proposal.ErrClosed) || asked != 3 {
			t.Errorf("%v after %d questions", err, asked)
		}
		if err := r.Shutdown().Error(); err != nil {
			t.Error(err)
		}
	})
}
