package pacer

import (
	"errors"
	"sync"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// Errors of totals.add. A node repeats in its next report what a refused one contained.
var (
	errNotLeader = errors.New("this node does not lead the group")
	errBehind    = errors.New("the node has not applied yet which of its reports were counted last")
	errOld       = errors.New("a newer report, or one of a later start of the node, was counted")
)

// totals sums what all nodes have served of the campaigns of one group since the last tick.
//
// Nodes report totals since their start, so a report that is lost or repeated changes no sum. A leader remembers the last
// total that it has counted of each node. A new leader does not know them; it takes from the node's report which part of
// each total is in the replicated holds already. The node knows that because the log says which of its reports were counted
// (command.CountedReport), and the leader verifies that both mean the same report. So every win is counted once, also over
// a change of leaders.
type totals struct {
	mu      sync.Mutex
	leads   bool
	counted map[uint16]command.CountedReport // By node, as replicated.
	nodes   map[uint16]*nodeTotals
	behind  map[uint16]int           // How many reports of a node were refused in a row, because the node was behind.
	served  map[uint32]pacing.Served // By ordinal; Auctions is not used.
	traffic map[trafficKey]uint64
}

// trafficKey names what auctions are counted for.
type trafficKey struct {
	marketplace uint16
	format      model.AdFormat
}

// nodeTotals are the totals of one start of a node that this leader has counted.
type nodeTotals struct {
	start   uint32
	number  uint64 // Of the last report.
	idle    int    // Ticks since the last report.
	spent   map[uint32]spent
	traffic map[trafficKey]uint64
}

// spent is a total of one campaign.
type spent struct {
	expected money.Micros
	wins     uint64
}

// behindMax is the number of reports of a node after which a new leader counts what the node serves from then on, although
// the node does not know which of its reports was counted last. That can only be when it remembers too few of them
// (outstandingMax).
const behindMax = 10

// idleMax is the number of ticks after which the totals of a silent node are forgotten: it is dead, or cut off. When it
// reports again, it says what was counted.
const idleMax = 60

// lead makes this node count for a group, from what the log says was counted.
func (t *totals) lead(counted []command.CountedReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leads = true
	t.counted = map[uint16]command.CountedReport{}
	for _, r := range counted {
		t.counted[r.Node] = r
	}
	t.nodes, t.behind = map[uint16]*nodeTotals{}, map[uint16]int{}
	t.served, t.traffic = map[uint32]pacing.Served{}, map[trafficKey]uint64{}
}

// resign stops counting.
func (t *totals) resign() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leads = false
	t.counted, t.nodes, t.behind, t.served, t.traffic = nil, nil, nil, nil, nil
}

// add counts a report.
func (t *totals) add(r *report) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leads {
		return errNotLeader
	}
	n := t.nodes[r.node]
	if n == nil || n.start < r.start {
		if err := t.check(r); err != nil {
			return err
		}
		n = &nodeTotals{start: r.start, spent: map[uint32]spent{}, traffic: map[trafficKey]uint64{}}
		t.nodes[r.node] = n
	}
	if n.start > r.start || n.number >= r.number {
		return errOld
	}
	n.number, n.idle = r.number, 0
	for i := range r.spent {
		t.addSpent(n, &r.spent[i])
	}
	for i := range r.traffic {
		t.addTraffic(n, &r.traffic[i])
	}
	return nil
}

// check decides about the first report of a start of a node that this leader gets.
func (t *totals) check(r *report) error {
	counted, known := t.counted[r.node]
	switch {
	case !known || counted.Start < r.start:
	case counted.Start > r.start:
		return errOld
	case counted.Number != r.base:
		if t.behind[r.node]++; t.behind[r.node] < behindMax {
			return errBehind
		}
		for i := range r.spent {
			r.spent[i].base = r.spent[i].total
		}
		for i := range r.traffic {
			r.traffic[i].base = r.traffic[i].total
		}
	}
	delete(t.behind, r.node)
	return nil
}

// addSpent counts what has been added to a total since it was counted last.
func (t *totals) addSpent(n *nodeTotals, x *spentTotal) {
	last, known := n.spent[x.ordinal]
	if !known {
		last = x.base
	}
	if x.total.expected < last.expected || x.total.wins < last.wins {
		return
	}
	n.spent[x.ordinal] = x.total
	sum := t.served[x.ordinal]
	sum.Expected = min(sum.Expected, money.MaxMicros-(x.total.expected-last.expected)) + x.total.expected - last.expected
	sum.Wins += x.total.wins - last.wins
	t.served[x.ordinal] = sum
}

func (t *totals) addTraffic(n *nodeTotals, x *trafficTotal) {
	last, known := n.traffic[x.key]
	if !known {
		last = x.base
	}
	if x.total < last {
		return
	}
	n.traffic[x.key] = x.total
	t.traffic[x.key] += x.total - last
}

// take returns what was served since the last call, and the newest report of each node that it contains and that the log
// does not name yet.
func (t *totals) take() (served map[uint32]pacing.Served, traffic map[trafficKey]uint64, counted []command.CountedReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	served, traffic = t.served, t.traffic
	t.served, t.traffic = map[uint32]pacing.Served{}, map[trafficKey]uint64{}
	for node, n := range t.nodes {
		r := command.CountedReport{Node: node, Start: n.start, Number: n.number}
		if t.counted[node] != r {
			counted = append(counted, r)
		} else if n.idle++; n.idle > idleMax {
			delete(t.nodes, node)
		}
	}
	return served, traffic, counted
}

// replicated records that the log names reports as counted.
func (t *totals) replicated(counted []command.CountedReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range counted {
		if t.leads {
			t.counted[r.Node] = r
		}
	}
}
