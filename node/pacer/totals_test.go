package pacer

import (
	"errors"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/money"
)

// of returns a report of node 1 with a total of one campaign.
func of(start uint32, number, base uint64, counted, total money.Micros) *report {
	return &report{group: 1, node: 1, start: start, number: number, base: base, spent: []spentTotal{
		{7, spent{counted, uint64(counted)}, spent{total, uint64(total)}},
	}}
}

// expectTaken compares what campaign 7 has served since the last call.
func expectTaken(t *testing.T, x *totals, what string, want money.Micros) (counted []command.CountedReport) {
	t.Helper()
	served, _, counted := x.take()
	if got := served[7]; got.Expected != want || got.Wins != uint64(want) {
		t.Errorf("%s: %+v, want %d", what, got, want)
	}
	return counted
}

// Reports have totals: one that is lost, repeated or overtaken changes no sum.
func TestTotalsAreCountedOnce(t *testing.T) {
	var x totals
	if err := x.add(of(1, 1, 0, 0, 10)); !errors.Is(err, errNotLeader) {
		t.Errorf("a node that does not lead: %v", err)
	}
	x.lead(nil)
	add := func(r *report, want error) {
		t.Helper()
		if err := x.add(r); !errors.Is(err, want) {
			t.Errorf("report %d: %v, want %v", r.number, err, want)
		}
	}
	add(of(1, 1, 0, 0, 10), nil)
	expectTaken(t, &x, "the first report", 10)
	add(of(1, 2, 0, 0, 15), nil)
	add(of(1, 2, 0, 0, 15), errOld)
	add(of(1, 1, 0, 0, 10), errOld)
	add(of(1, 5, 0, 0, 40), nil)
	counted := expectTaken(t, &x, "two reports, a repeat and a late one", 30)
	if want := (command.CountedReport{Node: 1, Start: 1, Number: 5}); len(counted) != 1 || counted[0] != want {
		t.Errorf("counted %+v", counted)
	}
	x.replicated(counted)
	add(of(1, 6, 5, 40, 41), nil)
	if counted = expectTaken(t, &x, "after it was replicated", 1); len(counted) != 1 || counted[0].Number != 6 {
		t.Errorf("counted %+v", counted)
	}
	x.replicated(counted)
	if counted = expectTaken(t, &x, "nothing new", 0); len(counted) != 0 {
		t.Errorf("counted again: %+v", counted)
	}
	add(of(2, 1, 0, 0, 3), nil)
	add(of(1, 7, 6, 41, 99), errOld)
	expectTaken(t, &x, "a new start of the node", 3)
}

// A new leader counts what the log does not contain: from what the node says, if node and log mean the same report.
func TestNewLeaderCountsTheRest(t *testing.T) {
	var x totals
	x.lead([]command.CountedReport{{Node: 1, Start: 4, Number: 20}})
	for n, r := range []*report{of(4, 21, 19, 80, 150), of(3, 90, 0, 0, 9)} {
		if err := x.add(r); err == nil {
			t.Errorf("report %d of a node that is behind was counted", n)
		}
	}
	if err := x.add(of(4, 22, 20, 100, 150)); err != nil {
		t.Fatal(err)
	}
	if err := x.add(of(4, 23, 20, 100, 160)); err != nil { // It has not applied yet that 22 was counted.
		t.Fatal(err)
	}
	expectTaken(t, &x, "after a change of leaders", 60)

	x.resign()
	x.lead([]command.CountedReport{{Node: 1, Start: 4, Number: 23}})
	if err := x.add(of(5, 1, 0, 0, 8)); err != nil {
		t.Fatal(err)
	}
	expectTaken(t, &x, "a node that was started again", 8)
}

// A silent node is forgotten, and continues with what it says was counted. One that never catches up is counted from the
// tenth report on.
func TestSilentNodeIsForgotten(t *testing.T) {
	var x totals
	x.lead(nil)
	if err := x.add(of(1, 1, 0, 0, 10)); err != nil {
		t.Fatal(err)
	}
	x.replicated(expectTaken(t, &x, "alive", 10))
	for range idleMax + 1 {
		expectTaken(t, &x, "silent", 0)
	}
	if len(x.nodes) != 0 {
		t.Errorf("%d nodes are remembered", len(x.nodes))
	}
	for n := range uint64(behindMax) {
		err := x.add(of(1, 2+n, 0, 0, 20))
		if (err == nil) != (n == behindMax-1) {
			t.Errorf("report %d of a node that does not catch up: %v", n, err)
		}
	}
	expectTaken(t, &x, "what it had served before", 0)
	if err := x.add(of(1, 99, 0, 0, 26)); err != nil {
		t.Fatal(err)
	}
	expectTaken(t, &x, "what it served since", 6)
}

// The hold of a campaign cannot exceed the range of amounts, whatever a node reports.
func TestTotalsSaturate(t *testing.T) {
	var x totals
	x.lead(nil)
	for node := range uint16(3) {
		r := of(1, 1, 0, 0, money.MaxMicros)
		r.node = node
		if err := x.add(r); err != nil {
			t.Fatal(err)
		}
	}
	if served, _, _ := x.take(); served[7].Expected != money.MaxMicros {
		t.Errorf("%+v", served[7])
	}
}
