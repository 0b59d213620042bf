//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

// check is the check of one promise. A check that was not exercised is a violation too, because a run that compares nothing proves nothing.
type check struct {
	Name      string
	Exercised int64  // How often the promise was exercised.
	Violation string `json:",omitempty"`
	Note      string `json:",omitempty"`
}

// evaluate makes every check of the report and counts the violations.
func (rep *report) evaluate(o options, kinds []attack.Kind) {
	rep.Checks = []check{
		rep.checkProcess(), rep.checkMemory(o), rep.checkFiles(o), rep.checkAuctions(), rep.checkEvents(), rep.checkAudit(kinds),
		rep.checkUploads(), rep.checkChanges(),
	}
	if o.ratioMax > 0 {
		rep.Checks = append(rep.Checks, rep.checkLatency(o))
	}
	rep.Checks = append(rep.Checks, rep.checkAttackers(kinds)...)
	for i := range rep.Checks {
		c := &rep.Checks[i]
		if c.Exercised == 0 && c.Violation == "" {
			c.Violation = "it was not exercised"
		}
		if c.Violation != "" {
			rep.Violations++
		}
	}
}

func (rep *report) checkProcess() check {
	c := check{Name: "the process never ends", Exercised: int64(rep.Samples)}
	if rep.Ended != "" {
		c.Violation = cmp.Or(rep.Killed, "it ended by itself") + "; " + rep.Ended
	}
	return c
}

func (rep *report) checkMemory(o options) check {
	c := check{Name: "the memory stays below the limit", Exercised: int64(rep.Samples), Note: fmt.Sprintf("at most %d MiB resident", rep.PeakRSS>>20)}
	if rep.PeakRSS >= o.memory {
		c.Violation = fmt.Sprintf("%d MiB resident, limit %d MiB", rep.PeakRSS>>20, o.memory>>20)
	}
	return c
}

func (rep *report) checkFiles(o options) check {
	c := check{Name: "the open files stay below the limit", Exercised: int64(rep.Samples), Note: fmt.Sprintf("at most %d open", rep.PeakFiles)}
	if rep.PeakFiles >= o.files {
		c.Violation = fmt.Sprintf("%d files open, limit %d", rep.PeakFiles, o.files)
	}
	return c
}

// calmMax is the p99 without attackers above which nothing can be compared, because the storefront alone overloads the machine.
const calmMax = 250 * time.Millisecond

// checkLatency checks the median of the ratios of all pairs, so that a pause of the machine in one window does not decide.
func (rep *report) checkLatency(o options) check {
	c := check{Name: fmt.Sprintf("p99 of auctions at most %g times that without attackers", o.ratioMax)}
	var ratios, bare []float64
	for _, p := range rep.Pairs {
		if p.Ratio > 0 && p.BareRatio > 0 {
			ratios, bare = append(ratios, p.Ratio), append(bare, p.BareRatio)
		}
	}
	c.Exercised = int64(len(ratios))
	switch {
	case len(ratios) == 0:
	case len(ratios) < len(rep.Pairs):
		c.Violation = fmt.Sprintf("only %d of %d pairs were measured", len(ratios), len(rep.Pairs))
	case rep.First.P99 > calmMax:
		c.Violation = fmt.Sprintf("p99 before the first attack is %v, above %v: the machine cannot take the rate, so nothing was compared", rep.First.P99, calmMax)
	case rep.Calm.P99 > calmMax:
		c.Violation = fmt.Sprintf("p99 without attackers is %v, above %v, and %v before the first attack: the attacks outlast their windows, so nothing was compared",
			rep.Calm.P99, calmMax, rep.First.P99)
	default:
		m := median(ratios)
		c.Note = fmt.Sprintf("median of the pairs %.2f, of the bare server in the same seconds %.2f; all windows together %.2f",
			m, median(bare), ratio(rep.Attacked.P99, rep.Calm.P99))
		if m > o.ratioMax {
			c.Violation = fmt.Sprintf("the median of the pairs is %.2f", m)
		}
	}
	return c
}

// median returns the median; of an even count it is the larger of the two in the middle, which is stricter.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func (rep *report) checkAuctions() check {
	c := check{Name: "every auction is answered with success", Exercised: min(rep.Attacked.Count, rep.Calm.Count)}
	for status, n := range rep.Auctions {
		if status/100 != 2 && n > 0 {
			c.Violation = "answered " + statuses(rep.Auctions)
		}
	}
	if len(rep.Refused) > 0 {
		c.Violation = strings.Join(rep.Refused, "; ")
	}
	return c
}

func (rep *report) checkEvents() check {
	c := check{Name: "no acknowledged event is lost", Note: fmt.Sprintf("%d events acknowledged, %d bodies after repeats", rep.Events, rep.Settled)}
	switch {
	case rep.EventsNote != "":
		c.Violation = rep.EventsNote
	case !rep.EventsRead:
		c.Violation = "the reports could not be read"
	case len(rep.EventsDiffer) > 0:
		c.Exercised = rep.Events
		c.Violation = strings.Join(rep.EventsDiffer, "; ")
	default:
		c.Exercised = rep.Events
	}
	return c
}

func (rep *report) checkAudit(kinds []attack.Kind) check {
	c := check{Name: "no audit entry is lost"}
	want := 1 // The audit log of the bystander.
	if slices.ContainsFunc(kinds, func(k attack.Kind) bool { return k.Name == "changes" }) {
		want++
	}
	read := 0
	var notes []string
	for _, a := range rep.Audits {
		c.Exercised += int64(a.Changes)
		notes = append(notes, fmt.Sprintf("%s: %d changes, %d lost, %d entries without their answer", a.Marketplace, a.Changes, a.Lost, a.Unanswered))
		switch {
		case !a.Read:
			c.Violation = fmt.Sprintf("the log of %s could not be read: %s", a.Marketplace, a.Note)
		case a.Lost > 0:
			c.Violation = fmt.Sprintf("%d of %d changes of %s have no entry, such as %s", a.Lost, a.Changes, a.Marketplace, strings.Join(a.Some, ", "))
		case a.Unanswered > 0: // The node never ended, so it could have written every outcome.
			c.Violation = fmt.Sprintf("%d of %d entries of %s do not say what was answered", a.Unanswered, a.Changes, a.Marketplace)
		case a.Changes > 0:
			read++
		}
	}
	slices.Sort(notes)
	c.Note = strings.Join(notes, "; ")
	if c.Violation == "" && read < want {
		c.Violation = fmt.Sprintf("only %d of %d audit logs were compared", read, want)
	}
	return c
}

func (rep *report) checkUploads() check {
	return rep.checkBystander("uploads of an honest tenant go through", "file", "segment")
}

func (rep *report) checkChanges() check {
	return rep.checkBystander("changes of an honest tenant go through", "change")
}

func (rep *report) checkBystander(name string, kinds ...string) check {
	c := check{Name: name}
	var wrong []string
	for _, kind := range kinds {
		b := rep.Bystander[kind]
		switch {
		case b == nil || b.Attacked == 0:
			wrong = append(wrong, fmt.Sprintf("no %s was tried under attack", kind))
		case b.Failed > 0:
			wrong = append(wrong, fmt.Sprintf("%d of %d tries of a %s failed: %s", b.Failed, b.Tried, kind, b.First))
		default:
			c.Exercised += int64(b.Attacked)
		}
	}
	c.Violation = strings.Join(wrong, "\n  ")
	return c
}

// checkAttackers checks that every attack was made, and that none got what it must not get.
func (rep *report) checkAttackers(kinds []attack.Kind) []check {
	made := check{Name: "every attack was made"}
	refused := check{Name: "no attack got what it must not get"}
	var idle, got []string
	for _, k := range kinds {
		i := slices.IndexFunc(rep.Attackers, func(a attack.Result) bool { return a.Name == k.Name })
		if i < 0 {
			idle = append(idle, "there is no result of "+k.Name)
			continue
		}
		a := rep.Attackers[i]
		for _, name := range k.Must {
			made.Exercised += a.Counts[name]
			if a.Counts[name] == 0 {
				idle = append(idle, fmt.Sprintf("%s has no %q", k.Name, name))
			}
		}
		for _, name := range k.Breach {
			refused.Exercised += a.Counts["sent"]
			if n := a.Counts[name]; n > 0 {
				got = append(got, fmt.Sprintf("%s: %d times %s: %s", k.Name, n, name, strings.Join(a.Errors, "; ")))
			}
		}
	}
	made.Violation, refused.Violation = strings.Join(idle, "\n  "), strings.Join(got, "\n  ")
	if !slices.ContainsFunc(kinds, func(k attack.Kind) bool { return len(k.Breach) > 0 }) {
		return []check{made}
	}
	return []check{made, refused}
}
