package transport

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// returned starts A, which has an entry "X" that was never committed, as a leader has that was killed. B leads now and has
// committed "Y" in that place. Its first call carries no entry, but says that as much is committed; its second one carries
// "Y". It returns the command that A applied.
func returned(t *testing.T, as func(*Streams) raft.Transport) (applied string) {
	t.Helper()
	trans, addrA := listenAs(t, as)
	b, addrB := listen(t)
	config := raft.DefaultConfig()
	config.LocalID, config.Logger = "A", hclog.NewNullLogger()
	logs, snaps, machine := raft.NewInmemStore(), raft.NewInmemSnapshotStore(), &recorder{}
	servers := raft.Configuration{Servers: []raft.Server{{ID: "A", Address: addrA}, {ID: "B", Address: addrB}, {ID: "C", Address: "127.0.0.1:1"}}}
	if err := raft.BootstrapCluster(config, logs, logs, snaps, trans, servers); err != nil {
		t.Fatal(err)
	}
	common, term := uint64(1), uint64(1) // The configuration.
	if err := logs.StoreLog(&raft.Log{Index: common + 1, Term: term, Type: raft.LogCommand, Data: []byte("X")}); err != nil {
		t.Fatal(err)
	}
	r, err := raft.NewRaft(config, machine, logs, logs, snaps, trans)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Shutdown()

	for _, entries := range [][]*raft.Log{nil, {{Index: common + 1, Term: term + 1, Type: raft.LogCommand, Data: []byte("Y")}}} {
		call := &raft.AppendEntriesRequest{
			RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("B"), Addr: []byte(addrB)}, Leader: []byte(addrB),
			Term: term + 1, PrevLogEntry: common, PrevLogTerm: term, LeaderCommitIndex: common + 1, Entries: entries,
		}
		var answer raft.AppendEntriesResponse
		if err := b.AppendEntries("A", addrA, call, &answer); err != nil || !answer.Success {
			t.Fatalf("%d entries: %v, success %v", len(entries), err, answer.Success)
		}
	}
	for machine.last() == "" {
		time.Sleep(time.Millisecond)
	}
	return machine.last()
}

// A leader that was killed and comes back does not apply what was never committed. The library alone does; when the first
// half fails, a release has repaired it, and boundCommit can be removed.
func TestReturnedLeaderAppliesNothingUncommitted(t *testing.T) {
	if applied := returned(t, func(s *Streams) raft.Transport { return network(s, RPCsInFlight, hclog.NewNullLogger(), ioTimeout) }); applied != "X" {
		t.Errorf("the library seems repaired (applied %q): is boundCommit still needed?", applied)
	}
	if applied := returned(t, func(s *Streams) raft.Transport { return New(s, RPCsInFlight, hclog.NewNullLogger()) }); applied != "Y" {
		t.Errorf("applied %q, committed \"Y\"", applied)
	}
}
