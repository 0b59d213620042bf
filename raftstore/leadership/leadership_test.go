package leadership

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// lone returns Raft as the leader of a group of its own.
func lone(t *testing.T) *raft.Raft {
	t.Helper()
	c := raft.DefaultConfig()
	c.LocalID, c.Logger = "n1", hclog.NewNullLogger()
	log, snaps := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	address, transport := raft.NewInmemTransport("")
	one := raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: address}}}
	if err := raft.BootstrapCluster(c, log, log, snaps, transport, one); err != nil {
		t.Fatal(err)
	}
	r, err := raft.NewRaft(c, &raft.MockFSM{}, log, log, snaps, transport)
	if err != nil {
		t.Fatal(err)
	}
	for r.State() != raft.Leader {
		time.Sleep(100 * time.Millisecond)
	}
	return r
}

// A store that closes does not wait for a transfer of leadership, and does not call Raft for it again and again.
func TestBarrierEndsWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := lone(t)
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
