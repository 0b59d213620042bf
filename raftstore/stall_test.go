package raftstore

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
)

// A leader that is stopped in the middle of a snapshot, and whose connection stays open, does not keep the follower
// from answering a candidate: of three nodes these two have to elect one.
func TestFollowerVotesWhileASnapshotStalls(t *testing.T) {
	t.Parallel() // It waits for seconds.
	f := newFollower(t)
	rest, stopped := io.Pipe() // The leader reads its snapshot, and is stopped.
	ended := f.install(io.MultiReader(strings.NewReader(strings.Repeat("x", 600<<10)), rest), 1<<20)
	began, answered := time.Now(), false
	for !answered && time.Since(began) < 7*time.Second { // A candidate asks in each of its elections; a call takes 2 s at most.
		var vote raft.RequestPreVoteResponse
		answered = f.trans.RequestPreVote(f.identity.Server, f.address, &raft.RequestPreVoteRequest{RPCHeader: f.header, Term: 31, LastLogIndex: 30, LastLogTerm: 29}, &vote) == nil
	}
	if !answered {
		t.Errorf("a candidate got no answer for %s", time.Since(began))
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

// follower is node A, whose log diverged from that of B, its leader.
type follower struct {
	*Store
	*scriptedLeader
	address raft.ServerAddress // The follower's address.
}

func newFollower(t *testing.T) *follower {
	t.Helper()
	fs := vfs.NewMem()
	b := diverged(t, fs, 20)
	s := openA(t, fs, nil)
	return &follower{s, b, raft.ServerAddress(s.Group(1).streams.Addr().String())}
}

// install begins to send the follower a snapshot, and returns when the follower has begun to read it.
func (f *follower) install(content io.Reader, size int64) (ended chan error) {
	call := &raft.InstallSnapshotRequest{
		RPCHeader: f.header, SnapshotVersion: 1, Term: 30, Leader: f.header.Addr, LastLogIndex: 15, LastLogTerm: 1,
		Configuration: raft.EncodeConfiguration(f.servers()), ConfigurationIndex: 1, Size: size,
	}
	ended = make(chan error, 1)
	go func() {
		ended <- f.trans.InstallSnapshot(f.identity.Server, f.address, call, &raft.InstallSnapshotResponse{}, content)
	}()
	for f.Group(1).raft.CurrentTerm() != 30 {
		time.Sleep(time.Millisecond)
	}
	return ended
}

// dripping is a snapshot of 1 GiB at 640 KiB a second: never slow enough to be given up, and long on its way.
type dripping struct{ stop chan struct{} }

func (d dripping) Read(b []byte) (int, error) {
	select {
	case <-d.stop:
		return 0, io.ErrUnexpectedEOF
	case <-time.After(100 * time.Millisecond):
		return copy(b, strings.Repeat("x", 64<<10)), nil
	}
}

// A node that stops while a leader sends it a snapshot slowly does not read that to its end.
func TestCloseWhileASnapshotComes(t *testing.T) {
	t.Parallel() // It waits for seconds.
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
