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

// statistics are the counts of one cluster, or the sums of all.
type statistics struct {
	Clusters, Acked, Unknown, Tokens, Reads, Compared, Exits, Terms, Fresh int
	Transfers, Crossed, Returned                                           int
	Seconds                                                                float64 // Simulated seconds.
	Faults                                                                 map[string]int
}

func newStatistics() *statistics { return &statistics{Faults: map[string]int{}} }

func (f *statistics) add(o *statistics) {
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

func (f *statistics) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f simulated hours, %d clusters\n%d events and changes acknowledged, %d attempts of unknown outcome repeated until known\n"+
		"%d money transfers, %d of these between groups, of which %d were returned\n"+
		"%d tokens, %d linearizable reads, %d equal digests of two nodes at one entry, %d terms, %d processes stopped themselves, %d freshness checks passed\n",
		f.Seconds/3600, f.Clusters, f.Acked, f.Unknown, f.Transfers, f.Crossed, f.Returned, f.Tokens, f.Reads, f.Compared, f.Terms, f.Exits, f.Fresh)
	for _, kind := range slices.Sorted(maps.Keys(f.Faults)) {
		fmt.Fprintf(&b, "%s %d, ", kind, f.Faults[kind])
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// printStatistics prints the statistics for the process that sums them up.
func (w *environment) printStatistics(span time.Duration) {
	f := w.statistics
	f.Clusters, f.Exits, f.Seconds = 1, int(w.c.Exits.Load()), span.Seconds()
	for _, h := range w.groups {
		f.Acked, f.Unknown, f.Reads = f.Acked+h.acked, f.Unknown+h.unknown, f.Reads+h.reads
		f.Fresh, f.Compared, f.Tokens = f.Fresh+h.fresher, f.Compared+h.compared, f.Tokens+len(h.tokens)
		if i := w.leader(h.group); i >= 0 {
			store, _, _ := w.running(i)
			f.Terms += int(store.Group(h.group).Status().Term)
		}
	}
	f.Transfers, f.Crossed, f.Returned = w.transfers.counts()
	text, err := json.Marshal(f)
	if err != nil {
		w.t.Errorf("%v", err)
	}
	fmt.Fprintf(os.Stdout, "statistics %s\n", text)
}

func (w *environment) count(kind string) {
	w.statisticsMu.Lock()
	defer w.statisticsMu.Unlock()
	w.statistics.Faults[kind]++
}

// failureReporter prints the failures of a test at once, because the process ends without returning to the test.
type failureReporter struct {
	testing.TB
	failures atomic.Int64
}

// failuresPrinted is how many failures one process prints. BOUND: one defect often causes failures in many places.
const failuresPrinted = 20

// Errorf counts a failure and prints it.
func (c *failureReporter) Errorf(format string, args ...any) {
	if c.failures.Add(1) <= failuresPrinted {
		fmt.Fprintf(os.Stdout, "%s "+format+"\n", append([]any{time.Now().Format("04:05.000")}, args...)...)
	}
}
