package transport

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// What another server says at the address of the one that was asked is no answer: neither a vote nor a stored entry.
func TestAnswersOfAnotherServerDoNotCount(t *testing.T) {
	trans, _ := listen(t)
	a := trans.(Safe)
	b, address := listen(t)
	go obey(b, "n3~new")
	ask := func(id raft.ServerID) []error {
		return []error{
			a.RequestVote(id, address, &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}),
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

// The same on a pipeline, where raft would count the answer without a look at its error.
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
