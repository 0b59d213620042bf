package raftstore

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/transport"
)

// A leader that is stopped in the midst of a snapshot, and whose connection stays open, does not keep the follower from
// answering a candidate: of three nodes these two have to elect one.
func TestFollowerVotesWhileASnapshotStalls(t *testing.T) {
	f := newFollower(t)
	rest, stopped := io.Pipe() // The leader reads its snapshot, and is stopped.
	ended := f.install(io.MultiReader(strings.NewReader(strings.Repeat("x", 600<<10)), rest), 1<<20)
	began, answered := time.Now(), false
	for !answered && time.Since(began) < 7*time.Second { // As a candidate asks in each of its elections; a call takes 2 s at most.
		var vote raft.RequestPreVoteResponse
		answered = f.leader.RequestPreVote(f.identity.Server, f.address, &raft.RequestPreVoteRequest{RPCHeader: f.header, Term: 31, LastLogIndex: 30, LastLogTerm: 29}, &vote) == nil
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
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// follower is a node of two whose log went another way than that of its leader, which is us.
type follower struct {
	*Store
	t       *testing.T
	leader  transport.Safe
	header  raft.RPCHeader
	address raft.ServerAddress // Of the follower.
	servers raft.Configuration
}

func newFollower(t *testing.T) *follower {
	t.Helper()
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
	diverge(t, fs, b.cluster, b, 20)
	s = open()
	trans := b.transport(t)
	return &follower{
		Store: s, t: t, leader: trans, servers: b.servers(),
		header:  raft.RPCHeader{ProtocolVersion: 3, ID: []byte("B"), Addr: []byte(b.address)},
		address: raft.ServerAddress(s.Group(1).streams.Addr().String()),
	}
}

// install begins to send the follower a snapshot, and returns when it has begun to take it.
func (f *follower) install(content io.Reader, size int64) (ended chan error) {
	call := &raft.InstallSnapshotRequest{
		RPCHeader: f.header, SnapshotVersion: 1, Term: 30, Leader: f.header.Addr, LastLogIndex: 15, LastLogTerm: 1,
		Configuration: raft.EncodeConfiguration(f.servers), ConfigurationIndex: 1, Size: size,
	}
	ended = make(chan error, 1)
	go func() {
		ended <- f.leader.InstallSnapshot(f.identity.Server, f.address, call, &raft.InstallSnapshotResponse{}, content)
	}()
	for f.Group(1).raft.CurrentTerm() != 30 {
		time.Sleep(time.Millisecond)
	}
	return ended
}

// dripping is a snapshot of 1 GiB at 640 KiB a second: never late enough to be given up, and long on its way.
type dripping struct{ stop chan struct{} }

func (d dripping) Read(b []byte) (int, error) {
	select {
	case <-d.stop:
		return 0, io.ErrUnexpectedEOF
	case <-time.After(100 * time.Millisecond):
		return copy(b, strings.Repeat("x", 64<<10)), nil
	}
}

// A node that is told to stop while a leader sends it a snapshot slowly does not read that to its end.
func TestCloseWhileASnapshotComes(t *testing.T) {
	f := newFollower(t)
	drip := dripping{make(chan struct{})}
	ended := f.install(drip, 1<<30)
	closed := make(chan error, 1)
	go func() { closed <- f.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(15 * time.Second):
		t.Error("the store reads on")
		close(drip.stop)
		<-closed
	}
	if <-ended == nil {
		t.Error("half a snapshot was taken")
	}
}
