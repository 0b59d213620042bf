// Package single starts hashicorp/raft as a group of one member in memory, for tests of what uses such a group.
package single

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Leader returns Raft as the leader of a group of its own, whose member is named n1. Raft sends changes of leadership to
// notices, which may be nil. The caller calls Shutdown.
func Leader(t *testing.T, notices chan<- bool) *raft.Raft {
	t.Helper()
	c := raft.DefaultConfig()
	c.LocalID, c.Logger, c.NotifyCh = "n1", hclog.NewNullLogger(), notices
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
