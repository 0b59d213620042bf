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
type words struct {
	mu    sync.Mutex
	lines [wordsMax]string
	said  int // The number of lines that were written.
}

const wordsMax = 200

// logHandler is the slog.Handler that writes to a logRing.
type speaker struct {
	*words
	with string
}

func (speaker) Enabled(context.Context, slog.Level) bool { return true }

func (s speaker) WithGroup(string) slog.Handler { return s }

func (s speaker) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		s.with += " " + a.String()
	}
	return s
}

func (s speaker) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s", r.Time.Format("04:05.000"), r.Message, s.with)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(" " + a.String())
		return true
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines[s.said%wordsMax] = b.String()
	s.said++
	return nil
}

// last returns the last lines, oldest first.
func (s *words) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for i := max(0, s.said-wordsMax); i < s.said; i++ {
		b.WriteString("  " + s.lines[i%wordsMax] + "\n")
	}
	return b.String()
}

// replicationStacks returns the stacks of the goroutines of all nodes that send or receive entries and snapshots, of those that
// close a store, and of those of the simulation.
func threads() string {
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
func (w *world) behind() {
	for _, id := range w.raftGroups() {
		w.behindIn(id)
	}
	w.t.Errorf("goroutines:\n%s", threads())
}

func (w *world) behindIn(id uint16) {
	most := uint64(0)
	for _, i := range w.members() {
		if store, _, _ := w.open(i); store != nil {
			most = max(most, store.Group(id).Status().Applied)
		}
	}
	for _, i := range w.members() {
		store, _, _ := w.open(i)
		var s raftstore.GroupStatus
		if store != nil {
			s = store.Group(id).Status()
			w.t.Errorf("node %d, group %d: %+v, members %+v", i, id, s, store.Group(id).Members())
		} else {
			w.t.Errorf("node %d is not up", i)
		}
		if s.Applied < most || s.Ready {
			w.t.Errorf("last log lines of node %d:\n%s", i, w.nodes[i].words.last())
		}
	}
}
