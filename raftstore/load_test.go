package raftstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
)

// Snapshots, truncation and restarts while many callers write to several groups of a real disk: every acknowledged
// command is applied exactly once, logs are truncated, and readers never see a count decrease.
func TestSnapshotsAndRestartsUnderLoad(t *testing.T) {
	c := config(nil, 0, 1, 2, 3, 4)
	c.Dir = t.TempDir()
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 20*time.Millisecond, 40, 20
	const callersPerGroup = 8
	var acked [5][callersPerGroup]atomic.Uint64
	cut := 0
	for range 3 {
		s := open(t, c)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, id := range c.Groups {
			for caller := range callersPerGroup {
				all.Go(func() { write(t, ctx, s.Group(id), caller, &acked[id][caller]) })
			}
			all.Go(func() { watch(t, ctx, s.Group(id)) })
		}
		time.Sleep(time.Second)
		stop()
		all.Wait()
		for _, st := range s.Status() {
			if st.FirstIndex > 1 {
				cut++
			}
		}
		closeStore(t, s)
	}
	if cut == 0 {
		t.Error("no log was truncated: the test does not test it")
	}
	s := open(t, c)
	defer closeStore(t, s)
	total := uint64(0)
	for _, id := range c.Groups {
		for caller := range callersPerGroup {
			want := acked[id][caller].Load()
			total += want
			// Close finishes what Raft had, so an unknown outcome may be applied: at most one per run.
			if got := read(t, s.Group(id), fmt.Sprint("caller", caller)); got < want || got > want+3 {
				t.Errorf("group %d, caller %d: applied %d, acknowledged %d", id, caller, got, want)
			}
		}
	}
	if got := s.Stats().StatesRebuilt; got != 0 {
		t.Errorf("%d states had to be rebuilt after a clean close", got)
	}
	t.Logf("%d commands acknowledged", total)
}

// write proposes until ctx ends. The answer must be one more than the last one, plus outcomes that stayed unknown.
func write(t *testing.T, ctx context.Context, g *raftstore.Group, caller int, acked *atomic.Uint64) {
	cmd := fmt.Append(nil, "caller", caller)
	for ctx.Err() == nil {
		result, err := g.Propose(ctx, cmd)
		switch {
		case errors.Is(err, raftstore.ErrUnknown), errors.Is(err, context.Canceled):
			return
		case err != nil:
			t.Error(err)
			return
		}
		if n := binary.BigEndian.Uint64(result); n < acked.Add(1) {
			t.Errorf("command %d was answered with count %d", acked.Load(), n)
			return
		}
	}
}

// watch reads a group beside the writers: counts only grow.
func watch(t *testing.T, ctx context.Context, g *raftstore.Group) {
	var last uint64
	for ctx.Err() == nil {
		n := read(t, g, "caller0")
		if n < last {
			t.Errorf("count fell from %d to %d", last, n)
			return
		}
		last = n
		time.Sleep(time.Millisecond)
	}
}
