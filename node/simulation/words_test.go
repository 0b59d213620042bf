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

// words are the last lines that a node logged, over all its lives, raft's daily ones among them: they are told when it does not do
// what it should. BOUND: wordsMax lines.
type words struct {
	mu    sync.Mutex
	lines [wordsMax]string
	said  int
}

const wordsMax = 200

// speaker is the slog.Handler that fills words.
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

// last are the newest lines, oldest first.
func (s *words) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for i := max(0, s.said-wordsMax); i < s.said; i++ {
		b.WriteString("  " + s.lines[i%wordsMax] + "\n")
	}
	return b.String()
}

// threads are those of all nodes that send entries and snapshots or take them, those that close a store, and those of the simulation.
func threads() string {
	all := make([]byte, 8<<20)
	all = all[:runtime.Stack(all, true)]
	var b strings.Builder
	for thread := range strings.SplitSeq(string(all), "\n\n") {
		for _, call := range []string{").replicate(", ").pipelineDecode(", ").installSnapshot(", ").InstallSnapshot(", "(*Store).Close(", "simulation_test.(*world)"} {
			if strings.Contains(thread, call) {
				b.WriteString(thread + "\n\n")
				break
			}
		}
	}
	return b.String()
}

// behind tells why the cluster does not come to rest: where each node stands, what those said last that are not up to date and the one
// that leads, and what the threads do that carry entries.
func (w *world) behind() {
	for _, id := range w.raftGroups() {
		w.behindIn(id)
	}
	w.t.Errorf("threads:\n%s", threads())
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
			w.t.Errorf("node %d said last:\n%s", i, w.nodes[i].words.last())
		}
	}
}
