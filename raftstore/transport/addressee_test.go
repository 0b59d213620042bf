package transport

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// An answer of another server at the address of the one that was called does not count: neither a vote nor a stored
// entry.
func TestAnswersOfAnotherServerDoNotCount(t *testing.T) {
	trans, _ := listen(t)
	a := trans.(Safe)
	b, address := listen(t)
	go obey(b, "n3~new")
	ask := func(id raft.ServerID) []error {
		return []error{
			a.RequestVote(id, address, &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{Addr: []byte("candidate")}}, &raft.RequestVoteResponse{}),
			a.RequestPreVote(id, address, &raft.RequestPreVoteRequest{}, &raft.RequestPreVoteResponse{}),
			a.AppendEntries(id, address, &raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{}),
		}
	}
	for i, err := range ask("n3~new") {
		if err != nil {
			t.Errorf("question %d: %v", i, err)
		}
	}
	for i, err := range ask("n3~old") {
		if !errors.Is(err, errAddressee) {
			t.Errorf("question %d to the old one: %v", i, err)
		}
	}
	if !a.PeerContact("n3~old").IsZero() || a.PeerContact("n3~new").IsZero() {
		t.Error("contact with a server that did not answer")
	}
}

// Calls for a node's former incarnation do not reach the present one: no entry, no vote, and no snapshot, which would
// delete what the new one has acknowledged.
func TestCallsForAnotherIncarnationDoNotArrive(t *testing.T) {
	trans, _ := listen(t)
	a := trans.(Safe)
	b, address := listen(t)
	mux := b.(Safe).dial.mux
	mux.SetCluster(cluster, "n3~new")
	arrived := make(chan raft.RPC, 16)
	go func() {
		for rpc := range b.Consumer() {
			arrived <- rpc
			rpc.Respond(nil, errors.New("not scripted"))
		}
	}()
	call := func(id raft.ServerID) {
		_ = a.RequestVote(id, address, &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{Addr: []byte("candidate")}}, &raft.RequestVoteResponse{}) // No vote is answered.
		_ = a.RequestPreVote(id, address, &raft.RequestPreVoteRequest{}, &raft.RequestPreVoteResponse{})
		_ = a.AppendEntries(id, address, &raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
		_ = a.InstallSnapshot(id, address, &raft.InstallSnapshotRequest{}, &raft.InstallSnapshotResponse{}, strings.NewReader(""))
		_ = a.TimeoutNow(id, address, &raft.TimeoutNowRequest{}, &raft.TimeoutNowResponse{})
		if p, err := a.AppendEntriesPipeline(id, address); err == nil {
			_, _ = p.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
			_ = p.Close()
		}
	}
	call("n3~old")
	if got := mux.Rejects().Stream.Load(); got < 5 || len(arrived) > 0 {
		t.Errorf("%d connections refused, %d calls arrived", got, len(arrived))
	}
	call("n3~new")
	if len(arrived) < 5 {
		t.Errorf("%d of 5 calls arrived", len(arrived))
	}
}

// The same on a pipeline, where Raft would count the answer without reading its error.
func TestPipelineKeepsBackAnswersOfAnotherServer(t *testing.T) {
	trans, _ := listen(t)
	b, address := listen(t)
	go obey(b, "n3~new")
	for id, counts := range map[raft.ServerID]bool{"n3~new": true, "n3~old": false} {
		p, err := trans.(Safe).AppendEntriesPipeline(id, address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
		select {
		case f := <-p.Consumer():
			if !counts || !f.Response().Success {
				t.Errorf("%s: an answer of %s", id, f.Response().ID)
			}
		case <-p.(*pipeline).closed:
			if counts {
				t.Errorf("%s: no answer", id)
			}
			_, err := p.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
			for began := time.Now(); err == nil && time.Since(began) < 5*time.Second; { // The queue may have room for some more.
				_, err = p.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
			}
			if err == nil {
				t.Error("the pipeline goes on")
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
