package simulation_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// figures are what one cluster, or all of them, went through.
type figures struct {
	Clusters, Acked, Unknown, Tokens, Reads, Compared, Exits, Terms, Fresh int
	Transfers, Crossed, Returned                                           int
	Seconds                                                                float64 // Simulated.
	Faults                                                                 map[string]int
}

func newFigures() *figures { return &figures{Faults: map[string]int{}} }

func (f *figures) add(o *figures) {
	f.Clusters += o.Clusters
	f.Acked += o.Acked
	f.Unknown += o.Unknown
	f.Tokens += o.Tokens
	f.Reads += o.Reads
	f.Compared += o.Compared
	f.Exits += o.Exits
	f.Terms += o.Terms
	f.Fresh += o.Fresh
	f.Transfers += o.Transfers
	f.Crossed += o.Crossed
	f.Returned += o.Returned
	f.Seconds += o.Seconds
	for kind, n := range o.Faults {
		f.Faults[kind] += n
	}
}

func (f *figures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f simulated hours, %d clusters\n%d events and changes acknowledged, %d attempts unknown and repeated until known\n"+
		"%d transfers of money, %d of them between groups, of which %d came back\n"+
		"%d tokens, %d linearizable reads, %d times two nodes at one entry with one digest, %d terms, %d processes ended themselves, %d times a node was as fresh as its fence said\n",
		f.Seconds/3600, f.Clusters, f.Acked, f.Unknown, f.Transfers, f.Crossed, f.Returned, f.Tokens, f.Reads, f.Compared, f.Terms, f.Exits, f.Fresh)
	for _, kind := range slices.Sorted(maps.Keys(f.Faults)) {
		fmt.Fprintf(&b, "%s %d, ", kind, f.Faults[kind])
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// tell prints the figures for the process that sums them up.
func (w *world) tell(span time.Duration) {
	f := w.figures
	f.Clusters, f.Exits, f.Seconds = 1, int(w.c.Exits.Load()), span.Seconds()
	for _, h := range w.groups {
		f.Acked, f.Unknown, f.Reads = f.Acked+h.acked, f.Unknown+h.unknown, f.Reads+h.reads
		f.Fresh, f.Compared, f.Tokens = f.Fresh+h.fresher, f.Compared+h.compared, f.Tokens+len(h.tokens)
		if i := w.leader(h.group); i >= 0 {
			store, _, _ := w.open(i)
			f.Terms += int(store.Group(h.group).Status().Term) //nolint:gosec // small.
		}
	}
	f.Transfers, f.Crossed, f.Returned = w.bank.figures()
	text, err := json.Marshal(f)
	if err != nil {
		w.t.Errorf("%v", err)
	}
	fmt.Fprintf(os.Stdout, "figures %s\n", text)
}

func (w *world) count(kind string) {
	w.figuresMu.Lock()
	defer w.figuresMu.Unlock()
	w.figures.Faults[kind]++
}

// complaints is a test whose process does not return to it: what is wrong is said at once.
type complaints struct {
	testing.TB
	failures atomic.Int64
}

// complaintsMax bounds what one process says. BOUND: one fault is often seen in many places.
const complaintsMax = 20

// Errorf says what is wrong.
func (c *complaints) Errorf(format string, args ...any) {
	if c.failures.Add(1) <= complaintsMax {
		fmt.Fprintf(os.Stdout, "%s "+format+"\n", append([]any{time.Now().Format("04:05.000")}, args...)...)
	}
}
