package raftstore

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
)

// A leader that is stopped in the midst of a snapshot, and whose connection stays open, does not keep the follower from
// answering a candidate: of three nodes these two have to elect one.
func TestFollowerVotesWhileASnapshotStalls(t *testing.T) {
	fs := vfs.NewMem()
	b := peer(t)
	open := func() *Store {
		s, err := Open(Config{
			Dir: "node", FS: fs, NodeID: "A", Groups: []uint16{1}, Expect: 1, PeerListen: "127.0.0.1:0", Insecure: true,
			Machine: func(uint16) StateMachine { return &counting{} },
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if err := s.Group(1).WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.cluster = s.Cluster().ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	diverge(t, fs, b.cluster, b)
	s = open()
	trans := b.transport(t)
	header := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("B"), Addr: []byte(b.address)}
	address := raft.ServerAddress(s.Group(1).streams.Addr().String())

	rest, stopped := io.Pipe() // The leader reads its snapshot, and is stopped.
	install := &raft.InstallSnapshotRequest{
		RPCHeader: header, SnapshotVersion: 1, Term: 30, Leader: []byte(b.address), LastLogIndex: 15, LastLogTerm: 1,
		Configuration: raft.EncodeConfiguration(b.servers()), ConfigurationIndex: 1, Size: 1 << 20,
	}
	ended := make(chan error, 1)
	go func() {
		content := io.MultiReader(strings.NewReader(strings.Repeat("x", 600<<10)), rest)
		ended <- trans.InstallSnapshot(s.identity.Server, address, install, &raft.InstallSnapshotResponse{}, content)
	}()
	for s.Group(1).raft.CurrentTerm() != 30 {
		time.Sleep(time.Millisecond)
	}
	began, answered := time.Now(), false
	for !answered && time.Since(began) < 7*time.Second { // As a candidate asks in each of its elections; a call takes 2 s at most.
		var vote raft.RequestPreVoteResponse
		answered = trans.RequestPreVote(s.identity.Server, address, &raft.RequestPreVoteRequest{RPCHeader: header, Term: 31, LastLogIndex: 30, LastLogTerm: 29}, &vote) == nil
	}
	if !answered {
		t.Errorf("a candidate heard nothing for %s", time.Since(began))
	}
	if err := stopped.CloseWithError(io.ErrUnexpectedEOF); err != nil {
		t.Fatal(err)
	}
	if <-ended == nil {
		t.Error("half a snapshot was taken")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
