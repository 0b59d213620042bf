package simulation_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"

	"github.com/gavel-ads/gavel/raftstore"
)

// logRing keeps the last log lines of a node over all its runs, those of raft included. They are printed when the cluster does
// not become quiet. BOUND: logRingMax lines.
type logRing struct {
	mu      sync.Mutex
	lines   [logRingMax]string
	written int // The number of lines that were written.
}

const logRingMax = 200

// logHandler is the slog.Handler that writes to a logRing.
type logHandler struct {
	*logRing
	with string
}

func (logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (s logHandler) WithGroup(string) slog.Handler { return s }

func (s logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		s.with += " " + a.String()
	}
	return s
}

func (s logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s", r.Time.Format("04:05.000"), r.Message, s.with)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(" " + a.String())
		return true
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines[s.written%logRingMax] = b.String()
	s.written++
	return nil
}

// last returns the last lines, oldest first.
func (s *logRing) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for i := max(0, s.written-logRingMax); i < s.written; i++ {
		b.WriteString("  " + s.lines[i%logRingMax] + "\n")
	}
	return b.String()
}

// replicationStacks returns the stacks of the goroutines of all nodes that send or receive entries and snapshots, of those that
// close a store, and of those of the simulation.
func replicationStacks() string {
	all := make([]byte, 8<<20)
	all = all[:runtime.Stack(all, true)]
	var b strings.Builder
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		for _, call := range []string{").replicate(", ").pipelineDecode(", ").installSnapshot(", ").InstallSnapshot(", "(*Store).Close(", "simulation_test.(*environment)"} {
			if strings.Contains(stack, call) {
				b.WriteString(stack + "\n\n")
				break
			}
		}
	}
	return b.String()
}

// reportLagging reports why the cluster does not become quiet: the position of each node, the last log lines of the nodes that
// lag and of the leader, and the goroutines that replicate entries.
func (w *environment) reportLagging() {
	for _, id := range w.raftGroups() {
		w.reportLaggingIn(id)
	}
	w.t.Errorf("goroutines:\n%s", replicationStacks())
}

func (w *environment) reportLaggingIn(id uint16) {
	most := uint64(0)
	for _, i := range w.members() {
		if store, _, _ := w.running(i); store != nil {
			most = max(most, store.Group(id).Status().Applied)
		}
	}
	for _, i := range w.members() {
		store, _, _ := w.running(i)
		var s raftstore.GroupStatus
		if store != nil {
			s = store.Group(id).Status()
			w.t.Errorf("node %d, group %d: %+v, members %+v", i, id, s, store.Group(id).Members())
		} else {
			w.t.Errorf("node %d is not up", i)
		}
		if s.Applied < most || s.Ready {
			w.t.Errorf("last log lines of node %d:\n%s", i, w.nodes[i].log.last())
		}
	}
}
