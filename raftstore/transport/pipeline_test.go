package transport

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// A pipeline whose answers nobody reads is closed, so that its sender goes on. The library alone waits for ever.
func TestFullPipelineIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := startMux(newPipes())
		safe := New(s, RPCsInFlight, hclog.NewNullLogger())
		go func() {
			for rpc := range safe.Consumer() {
				rpc.Respond(&raft.AppendEntriesResponse{RPCHeader: raft.RPCHeader{ID: []byte("peer")}}, nil)
			}
		}()
		p, err := safe.AppendEntriesPipeline("peer", "anyone")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for err == nil {
			_, err = p.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
		}
		if !errors.Is(err, raft.ErrPipelineShutdown) || time.Since(began) != pipelineStall {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		safe.Close()
		m.Close()
		close(safe.filter.out)
	})
}

// With one call on its way there is no pipeline, and Raft goes on with single calls.
func TestOneCallInFlightIsNoPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := startMux(newPipes())
		safe := New(s, 1, hclog.NewNullLogger())
		go obey(safe, "peer")
		if p, err := safe.AppendEntriesPipeline("peer", "anyone"); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
			t.Errorf("a pipeline %v, %v", p, err)
		}
		args := &raft.AppendEntriesRequest{PrevLogEntry: 7, Entries: []*raft.Log{{Index: 8}}}
		if err := safe.AppendEntries("peer", "anyone", args, &raft.AppendEntriesResponse{}); err != nil {
			t.Error(err)
		}
		if at, end := safe.PeerEnd("peer"); at.IsZero() || end != 8 {
			t.Errorf("heard at %s, its log ends at %d", at, end)
		}
		safe.Close()
		m.Close()
		close(safe.filter.out)
	})
}

// While the address of a follower changes Raft has no pipeline to it: the change waits until Raft has left the one it
// used, not longer than its context, and new ones are refused until the change is made.
func TestWithoutPipelines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := startMux(newPipes())
		safe := New(s, RPCsInFlight, hclog.NewNullLogger())
		go obey(safe, "peer")
		p, err := safe.AppendEntriesPipeline("peer", "anyone")
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		never := func() error { t.Error("changed while Raft used a pipeline"); return nil }
		if err := safe.WithoutPipelines(short, "peer", never); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a pipeline that is not left: %v", err)
		}
		if _, err := p.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{}); err == nil {
			t.Error("the pipeline goes on")
		}
		left := false
		time.AfterFunc(time.Second, func() {
			left = true
			_ = p.Close() // As Raft does.
		})
		err = safe.WithoutPipelines(t.Context(), "peer", func() error {
			if !left {
				t.Error("changed before Raft left the pipeline")
			}
			if _, err := safe.AppendEntriesPipeline("peer", "anyone"); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
				t.Errorf("a pipeline during the change: %v", err)
			}
			return errors.New("changed")
		})
		if err == nil || err.Error() != "changed" {
			t.Errorf("the change: %v", err)
		}
		if p, err = safe.AppendEntriesPipeline("peer", "anyone"); err != nil {
			t.Errorf("after the change: %v", err)
		}
		_ = p.Close()
		safe.Close()
		m.Close()
		close(safe.filter.out)
	})
}
