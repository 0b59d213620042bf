package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

// Stale is the bound on the age of budgets: a node that nothing reaches offers no campaign later than limit after it was
// cut off. Slack is what measuring needs: the tick that carries the leader's time, and the way of the answer.
func Stale(h *history.History, limit, slack time.Duration) Verdict {
	v := Verdict{Check: fmt.Sprintf("no campaign on a node cut off for more than %v", limit)}
	latest := time.Duration(0)
	for _, a := range h.Auctions {
		for _, cut := range h.Isolated {
			if cut.Node != a.Node || a.Invoke < cut.From || a.Return > cut.Until {
				continue
			}
			age := a.Invoke - cut.From
			if a.Winners > 0 {
				latest = max(latest, age)
			}
			if age <= limit+slack {
				continue
			}
			if v.Checked++; a.Winners > 0 {
				v.Fault("n%d gave %d winners at %v, %v after it was cut off", a.Node+1, a.Winners, a.Invoke, age)
			}
		}
	}
	v.Note = fmt.Sprintf("the latest winner came %v after a cut, slack %v", latest.Round(time.Millisecond), slack)
	return v
}

// Serving is the promise that every live node answers auctions: no request fails that was sent to a node that was ready
// and that no fault had hit.
func Serving(h *history.History) Verdict {
	v := Verdict{Check: "auctions on live nodes have no error"}
	for _, a := range h.Auctions {
		if hit(h, a) {
			continue
		}
		if v.Checked++; a.Status != 201 {
			v.Fault("n%d answered %d at %v after %v (0: nothing)", a.Node+1, a.Status, a.Invoke, a.Return-a.Invoke)
		}
	}
	return v
}

func hit(h *history.History, a history.Auction) bool {
	return slices.ContainsFunc(h.Down, func(s history.Span) bool {
		return s.Node == a.Node && a.Return >= s.From && a.Invoke <= s.Until
	})
}

// Share is how many of some auctions failed.
type Share struct{ Asked, Failed int }

// FailedAuctions counts the auctions on live nodes while faults of each kind were in force, and a little after.
func FailedAuctions(h *history.History) map[string]Share {
	shares := map[string]Share{}
	for _, a := range h.Auctions {
		if hit(h, a) {
			continue
		}
		kinds := map[string]bool{}
		for _, f := range h.Faults {
			if a.Invoke >= f.Begin && a.Invoke <= f.Settled {
				kinds[f.Kind] = true
			}
		}
		for kind := range kinds {
			s := shares[kind]
			if s.Asked++; a.Status != 201 {
				s.Failed++
			}
			shares[kind] = s
		}
	}
	return shares
}

// Gap is the write gap of a fault: how long the slowest small write that was begun in its time needed until it was
// acknowledged, retries on other nodes included.
func Gap(h *history.History, f *history.Fault) (worst time.Duration) {
	for _, w := range h.Writes {
		if w.Invoke >= f.Begin && w.Invoke <= f.Settled {
			finish := w.Return
			if finish == history.Never {
				finish = f.Settled
			}
			worst = max(worst, finish-w.Invoke)
		}
	}
	return worst
}

// Gaps are the write gaps of each kind of fault, of those that were alone, ascending.
func Gaps(h *history.History) map[string][]time.Duration {
	gaps := map[string][]time.Duration{}
	for i := range h.Faults {
		if f := &h.Faults[i]; f.Alone {
			gaps[f.Kind] = append(gaps[f.Kind], Gap(h, f))
		}
	}
	for _, list := range gaps {
		slices.Sort(list)
	}
	return gaps
}
