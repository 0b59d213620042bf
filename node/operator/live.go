package operator

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// LiveNode is a node as two scrapes of its metrics show it.
type LiveNode struct {
	Name string // What the operator called it by.
	// Before and Now are samples of different times. Before is nil after the first scrape that succeeded.
	Before, Now *Sample
	Err         error // Of the last scrape; then Now is of no use.
}

// Observe takes the next scrape of the node, or its error.
func (n *LiveNode) Observe(s *Sample, err error) {
	switch n.Err = err; {
	case err != nil:
		n.Before, n.Now = nil, nil
	default:
		n.Before, n.Now = n.Now, s
	}
}

// WriteLive prints what the nodes do now: a line for each node and one for each group.
func WriteLive(w io.Writer, at time.Time, nodes []*LiveNode) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n\nNODE\tSTATE\tAUCTIONS/S\tWINNERS/S\tEVENTS/S\tCHARGED/S\tREFUSED/S\tP99\tCPU\tMEMORY\tDISK FREE\tLEADS\n", at.Format(time.TimeOnly))
	for _, n := range nodes {
		fmt.Fprintln(t, strings.Join(n.cells(), "\t"))
	}
	fmt.Fprintln(t, "\nGROUP\tLEADER\tTERM\tCOMMITTED\tCOMMANDS/S\tWAITING\tBEHIND")
	for _, g := range liveGroups(nodes) {
		fmt.Fprintln(t, strings.Join(g, "\t"))
	}
	return t.Flush()
}

// cells are the columns of a node's line.
func (n *LiveNode) cells() []string {
	if n.Err != nil {
		return []string{n.Name, "no answer: " + n.Err.Error()}
	}
	state := "not ready"
	if n.Now.sum("gavel_ready") == 1 {
		state = "ready"
	}
	all := []string{n.Name, state}
	if n.Before == nil {
		return append(all, "measuring")
	}
	i := interval{n.Before, n.Now}
	leads := n.Now.sum("gavel_raft_leader")
	return append(
		all, count(i.rate("gavel_auctions_total")), count(i.rate("gavel_winners_total")), count(i.rate("gavel_events_total")),
		charged(i.rates("gavel_charged_micros_total", "currency")), count(i.rate("gavel_errors_total")), atMost(i.quantile("gavel_request_seconds", 0.99)),
		fmt.Sprintf("%.0f %%", 100*i.rate("process_cpu_seconds_total")), mebibytes(n.Now.sum("process_resident_memory_bytes")),
		mebibytes(n.Now.sum("gavel_disk_free_bytes")), strconv.Itoa(int(leads)),
	)
}

// count prints events a second; fractions matter only for few.
func count(rate float64) string {
	if rate < 10 {
		return strconv.FormatFloat(rate, 'f', 1, 64)
	}
	return strconv.FormatFloat(rate, 'f', 0, 64)
}

// charged prints money a second by currency, in major units.
func charged(micros map[string]float64) string {
	var parts []string
	for _, currency := range slices.Sorted(maps.Keys(micros)) {
		parts = append(parts, fmt.Sprintf("%.2f %s", micros[currency]/1e6, currency))
	}
	return cmp.Or(strings.Join(parts, ", "), "0")
}

// atMost prints the bound of a bucket in seconds.
func atMost(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "-"
	case math.IsInf(seconds, 1):
		return "over all buckets"
	}
	return "<= " + time.Duration(seconds*float64(time.Second)).String()
}

func mebibytes(n float64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%.0f GiB", n/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", n/(1<<20))
}

// liveGroups are the columns of the groups' lines, in the order of their numbers: the leader and how far the nodes are.
func liveGroups(nodes []*LiveNode) (lines [][]string) {
	leaders, newest, term := map[string][]string{}, map[string]float64{}, map[string]float64{}
	commands, waiting, behind := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, n := range nodes {
		if n.Now == nil {
			continue
		}
		for g, leads := range n.Now.labels("gavel_raft_leader", "group") {
			newest[g] = max(newest[g], n.Now.labels("gavel_raft_commit_index", "group")[g])
			term[g] = max(term[g], n.Now.labels("gavel_raft_term", "group")[g])
			behind[g] = max(behind[g], n.Now.labels("gavel_raft_apply_lag", "group")[g])
			waiting[g] += n.Now.labels("gavel_raft_queued_commands", "group")[g]
			if leads == 1 {
				leaders[g] = append(leaders[g], n.Name)
			}
			if n.Before != nil {
				commands[g] += interval{n.Before, n.Now}.rates("gavel_raft_proposed_commands_total", "group")[g]
			}
		}
	}
	numbers := slices.SortedFunc(maps.Keys(newest), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for _, g := range numbers {
		lines = append(lines, []string{
			g, cmp.Or(strings.Join(leaders[g], ", "), "none of these nodes"), strconv.Itoa(int(term[g])), strconv.Itoa(int(newest[g])),
			count(commands[g]), strconv.Itoa(int(waiting[g])), strconv.Itoa(int(behind[g])),
		})
	}
	return lines
}
