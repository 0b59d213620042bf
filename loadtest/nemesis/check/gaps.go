package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

// Bound is what Gavel promises for the write gap of some kinds of faults. The faults of all kinds that share a Bound are checked together.
type Bound struct {
	Promise string
	// P99 bounds the gaps of 99 of 100 faults, Max those of all. 0: no bound.
	P99, Max time.Duration
	// Few says that P99 is checked of fewer than a hundred faults, too; it is the longest gap then.
	Few bool
	// Singly says that only one of the nodes that such a fault names is down at a time.
	Singly bool
}

// appliesTo reports whether the promise covers a fault in a cluster of so many nodes: the fault hits at most a minority.
func (b *Bound) appliesTo(f *history.Fault, nodes int) bool {
	together := len(f.Nodes)
	if b.Singly {
		together = min(together, 1)
	}
	return together <= (nodes-1)/2
}

// p99FaultsMin is the least number of faults that have a 99th percentile.
const p99FaultsMin = 100

// Writable compares write gaps with their bounds, for faults without another beside them that left a majority. The time in which the machine
// itself hung is not counted. Bounds maps each kind of fault to its bound; nothing is promised for a kind without one.
func Writable(h *history.History, nodes int, bounds map[string]*Bound) []Result {
	of := map[*Bound][]*history.Fault{}
	var all []*Bound
	for _, kind := range slices.Sorted(maps.Keys(bounds)) {
		if b := bounds[kind]; b != nil && !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	for i := range h.Faults {
		f := &h.Faults[i]
		if b := bounds[f.Kind]; b != nil && f.Alone && b.appliesTo(f, nodes) {
			of[b] = append(of[b], f)
		}
	}
	results := make([]Result, len(all))
	for i, b := range all {
		results[i] = b.check(of[b])
	}
	return results
}

// check compares the gaps of faults with the bound. It sorts the faults by their gap.
func (b *Bound) check(faults []*history.Fault) Result {
	v := Result{Check: "writes go on: " + b.Promise, Checked: len(faults), MayBeEmpty: true}
	checkP99 := b.P99 > 0 && (b.Few || len(faults) >= p99FaultsMin)
	var limits []string
	if b.P99 > 0 {
		limits = append(limits, "p99 at most "+b.P99.String()+map[bool]string{false: fmt.Sprintf(" (of %d and more)", p99FaultsMin)}[checkP99])
	}
	if b.Max > 0 {
		limits = append(limits, "none above "+b.Max.String())
	}
	v.Note = strings.Join(limits, ", ")
	if len(faults) == 0 {
		return v
	}
	slices.SortStableFunc(faults, func(a, b *history.Fault) int { return cmp.Compare(a.Net, b.Net) })
	worst, p99 := faults[len(faults)-1], faults[(99*len(faults)+99)/100-1]
	v.Note += fmt.Sprintf("; p99 %v, worst %s", rounded(p99.Net), describe(worst))
	for _, f := range faults {
		if b.Max > 0 && f.Net > b.Max {
			v.AddViolation("none may take more than %v: %s", b.Max, describe(f))
		}
	}
	if checkP99 && p99.Net > b.P99 {
		v.AddViolation("the p99 of %d is %v, want at most %v: %s", len(faults), rounded(p99.Net), b.P99, describe(p99))
	}
	return v
}

// describe says the gap of a fault, its kind, target and time.
func describe(f *history.Fault) string {
	text := fmt.Sprintf("%v: %s of %s at %v", rounded(f.Net), f.Kind, f.Target, f.Begin.Round(time.Second))
	if f.Gap != f.Net { // Also when the next fault began before the write was acknowledged.
		text += fmt.Sprintf(" (%v with the time of other faults and in which the machine hung)", rounded(f.Gap))
	}
	return text
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// Measure sets of every fault whether it was alone, and its write gap.
func Measure(h *history.History) {
	for i := range h.Faults {
		f := &h.Faults[i]
		f.Alone = true
		excluded := slices.Clone(h.Stalls) // Intervals that this fault did not cause.
		for j := range h.Faults {
			g := &h.Faults[j]
			if i == j {
				continue
			}
			if g.Begin <= f.Settled && f.Begin <= g.Settled {
				f.Alone = false
			}
			excluded = append(excluded, history.Stall{From: g.Begin, Until: g.Settled})
		}
		slices.SortFunc(excluded, func(a, b history.Stall) int { return cmp.Compare(a.From, b.From) })
		f.Gap, f.Net = gaps(h, f, excluded)
	}
}

// gaps returns how long the slowest small write that began in the time of a fault took until it was acknowledged, retries on other nodes
// included (gap), and the longest such duration without the excluded intervals (net).
func gaps(h *history.History, f *history.Fault, excluded []history.Stall) (gap, net time.Duration) {
	for _, w := range h.Writes {
		if w.Invoke < f.Begin || w.Invoke > f.Settled {
			continue
		}
		finish := w.Return
		if finish == history.Never { // The write took at least until this time.
			finish = max(w.GivenUp, f.Settled)
		}
		gap = max(gap, finish-w.Invoke)
		net = max(net, finish-w.Invoke-covered(excluded, w.Invoke, finish))
	}
	return gap, net
}

// Hung returns how long the machine itself hung between two instants.
func Hung(stalls []history.Stall, from, until history.Instant) time.Duration {
	sorted := slices.Clone(stalls)
	slices.SortFunc(sorted, func(a, b history.Stall) int { return cmp.Compare(a.From, b.From) })
	return covered(sorted, from, until)
}

// covered returns how much of the time between two instants some intervals cover. REQUIRES: they ascend by their beginnings; they may
// overlap.
func covered(others []history.Stall, from, until history.Instant) (total time.Duration) {
	for _, s := range others {
		if begin, end := max(s.From, from), min(s.Until, until); end > begin {
			total += end - begin
			from = end
		}
	}
	return total
}

// Gaps returns the write gaps of the faults of each kind that were alone, ascending.
func Gaps(h *history.History) map[string][]time.Duration {
	all := map[string][]time.Duration{}
	for _, f := range h.Faults {
		if f.Alone {
			all[f.Kind] = append(all[f.Kind], f.Gap)
		}
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}
