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

// Bound is what the product promises of the write gap of some kinds of faults. Kinds that share a Bound are judged together.
type Bound struct {
	Promise string
	// P99 is what the gaps of 99 of 100 faults must not exceed, Max what none may. 0: no bound.
	P99, Max time.Duration
	// Few: P99 is asked of fewer than a hundred faults, too, of which it is the longest.
	Few bool
	// Singly: of the nodes that such a fault names, one is gone at a time.
	Singly bool
}

// bindsAt reports whether the promise is given for a fault in a cluster of so many nodes: at most a minority is hit.
func (b *Bound) bindsAt(f *history.Fault, nodes int) bool {
	together := len(f.Nodes)
	if b.Singly {
		together = min(together, 1)
	}
	return together <= (nodes-1)/2
}

// hundred faults are what a 99th percentile can be told of.
const hundred = 100

// Writable holds the write gaps against what is promised: of faults that stood alone and left a majority, without the time in
// which the machine itself hung. Bounds are those of each kind; a kind without one has no promise.
func Writable(h *history.History, nodes int, bounds map[string]*Bound) []Verdict {
	of := map[*Bound][]*history.Fault{}
	var all []*Bound
	for _, kind := range slices.Sorted(maps.Keys(bounds)) {
		if b := bounds[kind]; b != nil && !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	for i := range h.Faults {
		f := &h.Faults[i]
		if b := bounds[f.Kind]; b != nil && f.Alone && b.bindsAt(f, nodes) {
			of[b] = append(of[b], f)
		}
	}
	verdicts := make([]Verdict, len(all))
	for i, b := range all {
		verdicts[i] = b.judge(of[b])
	}
	return verdicts
}

func (b *Bound) judge(faults []*history.Fault) Verdict {
	v := Verdict{Check: "writes go on: " + b.Promise, Checked: len(faults), Idle: true}
	asked := b.P99 > 0 && (b.Few || len(faults) >= hundred)
	var limits []string
	if b.P99 > 0 {
		limits = append(limits, "p99 at most "+b.P99.String()+map[bool]string{false: fmt.Sprintf(" (of %d and more)", hundred)}[asked])
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
	v.Note += fmt.Sprintf("; p99 %v, worst %s", rounded(p99.Net), tell(worst))
	for _, f := range faults {
		if b.Max > 0 && f.Net > b.Max {
			v.Fault("none may take more than %v: %s", b.Max, tell(f))
		}
	}
	if asked && p99.Net > b.P99 {
		v.Fault("the p99 of %d is %v, want at most %v: %s", len(faults), rounded(p99.Net), b.P99, tell(p99))
	}
	return v
}

func tell(f *history.Fault) string {
	text := fmt.Sprintf("%v: %s of %s at %v", rounded(f.Net), f.Kind, f.Target, f.Begin.Round(time.Second))
	if f.Gap != f.Net { // The next fault may have begun before the write came through.
		text += fmt.Sprintf(" (%v with what the machine hung and other faults took)", rounded(f.Gap))
	}
	return text
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// Measure notes of every fault whether another was in force in its time, and its write gap.
func Measure(h *history.History) {
	for i := range h.Faults {
		f := &h.Faults[i]
		f.Alone = true
		apart := slices.Clone(h.Stalls) // What is not this fault's doing.
		for j := range h.Faults {
			g := &h.Faults[j]
			if i == j {
				continue
			}
			if g.Begin <= f.Settled && f.Begin <= g.Settled {
				f.Alone = false
			}
			apart = append(apart, history.Stall{From: g.Begin, Until: g.Settled})
		}
		slices.SortFunc(apart, func(a, b history.Stall) int { return cmp.Compare(a.From, b.From) })
		f.Gap, f.Net = gaps(h, f, apart)
	}
}

// gaps are how long the slowest small write that was begun in the time of a fault needed until it was acknowledged, retries on other
// nodes included, and how long of that was the fault's doing.
func gaps(h *history.History, f *history.Fault, apart []history.Stall) (gap, net time.Duration) {
	for _, w := range h.Writes {
		if w.Invoke < f.Begin || w.Invoke > f.Settled {
			continue
		}
		finish := w.Return
		if finish == history.Never { // It took at least so long.
			finish = max(w.GivenUp, f.Settled)
		}
		gap = max(gap, finish-w.Invoke)
		net = max(net, finish-w.Invoke-covered(apart, w.Invoke, finish))
	}
	return gap, net
}

// Hung is how long of a stretch of time the machine itself hung.
func Hung(stalls []history.Stall, from, until history.Instant) time.Duration {
	sorted := slices.Clone(stalls)
	slices.SortFunc(sorted, func(a, b history.Stall) int { return cmp.Compare(a.From, b.From) })
	return covered(sorted, from, until)
}

// covered is how long of a stretch of time the others take up, which ascend by their beginnings and may overlap.
func covered(others []history.Stall, from, until history.Instant) (total time.Duration) {
	for _, s := range others {
		if begin, end := max(s.From, from), min(s.Until, until); end > begin {
			total += end - begin
			from = end
		}
	}
	return total
}

// Gaps are the write gaps of each kind of fault, of those that were alone, ascending.
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
