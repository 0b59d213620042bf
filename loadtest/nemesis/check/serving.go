package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

// Stale checks the bound on the age of a replica: a node that is cut off offers no campaign later than limit after it was cut off. Slack
// is added for the measurement: the leader sends its time in ticks, and the answer takes some time.
func Stale(h *history.History, limit, slack time.Duration) Result {
	v := Result{Check: fmt.Sprintf("no campaign on a node cut off for more than %v", limit), MayBeEmpty: true}
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
				v.AddViolation("n%d gave %d winners at %v, %v after it was cut off", a.Node+1, a.Winners, a.Invoke, age)
			}
		}
	}
	v.Note = fmt.Sprintf("the latest winner came %v after a cut, slack %v", latest.Round(time.Millisecond), slack)
	return v
}

// Serving checks that every live node answers auctions: no request fails that was sent to a node while no fault disturbed it.
func Serving(h *history.History) Result {
	v := Result{Check: "auctions on live nodes have no error"}
	for _, a := range h.Auctions {
		if hit(h, a) {
			continue
		}
		if v.Checked++; a.Status != 201 {
			v.AddViolation("n%d answered %d at %v after %v (0: nothing)", a.Node+1, a.Status, a.Invoke, a.Return-a.Invoke)
		}
	}
	return v
}

// Full checks that a node whose disk is full answers auctions.
func Full(h *history.History) Result {
	v := Result{Check: "auctions at a node whose disk is full have no error", MayBeEmpty: true}
	for _, f := range h.Faults {
		if !strings.HasPrefix(f.Kind, "full-") {
			continue
		}
		for _, a := range h.Auctions {
			if a.Invoke < f.Begin || a.Invoke > f.Healed || !slices.Contains(f.Nodes, a.Node) || hit(h, a) {
				continue
			}
			if v.Checked++; a.Status != 201 {
				v.AddViolation("n%d answered %d at %v after %v (0: nothing)", a.Node+1, a.Status, a.Invoke, a.Return-a.Invoke)
			}
		}
	}
	return v
}

// hit reports whether the node of an auction was down at some moment of the request.
func hit(h *history.History, a history.Auction) bool {
	return slices.ContainsFunc(h.Down, func(s history.Span) bool {
		return s.Node == a.Node && a.Return >= s.From && a.Invoke <= s.Until
	})
}

// Share counts auctions and how many of them failed.
type Share struct{ Asked, Failed int }

// FailedAuctions counts the auctions on live nodes by kind of fault, from the beginning of each fault until all nodes were ready again.
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
