package pacer

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

const (
	// sendTimeout bounds the wait for a leader's answer; the next report repeats everything.
	sendTimeout = 900 * time.Millisecond
	// spentBytesMax is the most bytes of one campaign in a report, and trafficBytesMax of one ad format.
	spentBytesMax, trafficBytesMax = 5 + 4*10, 3 + 1 + 2*10
	headBytesMax                   = 1 + 8*10
	// outstandingMax is the number of reports that a node remembers until the log says that they were counted.
	outstandingMax = 32
	// lateAfter is the number of reports that may wait for being counted before the node counts as late.
	lateAfter = 3
)

// reporter sends what this node has served to the leaders of the groups. One goroutine calls report.
type reporter struct {
	p        *Pacer
	spending *market.Spending
	groups   map[ids.Group]*reported
	all      []market.Spent   // Reused.
	traffic  []market.Traffic // Reused.

	mu      sync.Mutex
	counted map[ids.Group]command.CountedReport // This node's newest report that was counted, as the log says.
	sending map[string]bool                     // Nodes that have not answered the last message yet.
}

// reported is what was reported of one group.
type reported struct {
	number  uint64 // Of the last report.
	base    uint64 // Of the last report that was counted, as far as spent and traffic say.
	spent   map[uint32]spent
	traffic map[trafficKey]uint64
	sent    []report // The last reports, of which the log has not said yet that they, or later ones, were counted.
}

func newReporter(p *Pacer) reporter {
	return reporter{
		p: p, spending: market.NewSpending(p.c.Market), groups: map[ids.Group]*reported{},
		counted: map[ids.Group]command.CountedReport{}, sending: map[string]bool{},
	}
}

// PutCounted receives which report of a node the holds of a group contain.
func (p *Pacer) PutCounted(group ids.Group, x *command.CountedReport) {
	if x.Node != p.c.Number {
		return
	}
	p.reporter.mu.Lock()
	defer p.reporter.mu.Unlock()
	p.reporter.counted[group] = *x
}

// countTraffic collects the auctions that this node has run, for the reports and for the hours.
func (r *reporter) countTraffic() {
	r.traffic = r.p.c.Market.AppendTraffic(r.traffic[:0])
	r.p.hours.count(r.p.c.Now().Unix(), r.traffic)
}

// report collects what this node has served and sends it to the leaders, its own groups first. It does not wait for the
// other nodes.
func (r *reporter) report(ctx context.Context) {
	r.spending.Collect()
	byNode := map[string][]report{}
	for _, g := range r.p.groups.Groups() {
		if !r.p.pacesGroup(g) {
			continue
		}
		next := r.next(g)
		switch leader := r.p.peers.Leader(g); {
		case r.p.groups.Leads(g):
			r.give(next)
		case leader != "" && leader != r.p.c.Node:
			byNode[leader] = append(byNode[leader], next)
		}
	}
	for node, reports := range byNode {
		r.send(ctx, node, reports)
	}
}

// next makes the next report of a group: all totals that were not counted yet.
func (r *reporter) next(g ids.Group) report {
	x := r.groups[g]
	if x == nil {
		x = &reported{spent: map[uint32]spent{}, traffic: map[trafficKey]uint64{}}
		r.groups[g] = x
	}
	r.mu.Lock()
	counted := r.counted[g]
	r.mu.Unlock()
	if counted.Start == r.p.start {
		x.advance(counted.Number)
	}
	if len(x.sent) >= lateAfter {
		r.p.stats.late.Add(1)
	}
	x.number++
	next := report{group: g, node: r.p.c.Number, start: r.p.start, number: x.number, base: x.base}
	for _, t := range r.traffic {
		key := trafficKey{t.Marketplace, t.Format}
		if base := x.traffic[key]; base != t.Auctions {
			next.traffic = append(next.traffic, trafficTotal{key, base, t.Auctions})
		}
	}
	r.all = r.spending.AppendChanged(r.all[:0], g, 0)
	for _, s := range r.all {
		total := spent{s.Expected, s.Wins}
		if base := x.spent[s.Ordinal]; base != total {
			next.spent = append(next.spent, spentTotal{s.Ordinal, base, total})
		}
	}
	return next
}

// remember keeps a report until it was counted.
func (x *reported) remember(r report) {
	if len(x.sent) == outstandingMax {
		x.sent = slices.Delete(x.sent, 0, 1)
	}
	x.sent = append(x.sent, r)
}

// advance makes the totals of a counted report the base of the next ones.
func (x *reported) advance(counted uint64) {
	for i := range x.sent {
		if r := &x.sent[i]; r.number == counted {
			for _, t := range r.spent {
				x.spent[t.ordinal] = t.total
			}
			for _, t := range r.traffic {
				x.traffic[t.key] = t.total
			}
			x.base = counted
			x.sent = slices.Delete(x.sent, 0, i+1)
			return
		}
	}
}

// give counts a report on this node, which leads the group.
func (r *reporter) give(next report) {
	if len(next.spent)+len(next.traffic) == 0 {
		return
	}
	r.groups[next.group].remember(next)
	_ = r.p.leader(next.group).totals.add(&next) // Before this node's first tick as leader it is refused; the next one repeats it.
}

// send sends reports to a node, unless it has not answered the last ones yet. What does not fit into the message waits for
// the next one; the campaigns that have spent most come first.
func (r *reporter) send(ctx context.Context, node string, reports []report) {
	reports = slices.DeleteFunc(reports, func(x report) bool { return len(x.spent)+len(x.traffic) == 0 })
	if len(reports) == 0 || !r.claim(node) {
		return
	}
	message := []byte{reportVersion}
	for i := range reports {
		x := &reports[i]
		r.p.stats.deferred.Add(uint64(x.shorten((r.p.c.ReportBytesMax - len(message)) / (len(reports) - i)))) // Not negative.
		r.groups[x.group].remember(*x)
		message = x.append(message)
	}
	r.p.running.Go(func() {
		defer r.release(node)
		ctx, cancel := context.WithTimeout(ctx, sendTimeout)
		defer cancel()
		r.p.stats.sent.Add(1)
		if err := r.p.peers.Send(ctx, node, message); err != nil && ctx.Err() == nil {
			r.p.stats.failed.Add(1)
			r.p.c.Log.Debug("pacing_report_failed", slog.String("node", node), slog.Any("err", err))
		}
	})
}

// claim reports whether a message may be sent to a node.
func (r *reporter) claim(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sending[node] {
		r.p.stats.failed.Add(1)
		return false
	}
	r.sending[node] = true
	return true
}

func (r *reporter) release(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sending, node)
}

// shorten removes what would make a report longer than a number of bytes, and returns how many totals it removed.
func (r *report) shorten(bytesMax int) (removed int) {
	space := bytesMax - headBytesMax
	if n := max(0, space/2/trafficBytesMax); n < len(r.traffic) {
		removed += len(r.traffic) - n
		r.traffic = r.traffic[:n]
	}
	n := max(0, (space-len(r.traffic)*trafficBytesMax)/spentBytesMax)
	if n >= len(r.spent) {
		return removed
	}
	slices.SortFunc(r.spent, func(a, b spentTotal) int {
		return int(min(max(b.total.expected-b.base.expected-(a.total.expected-a.base.expected), -1), 1))
	})
	removed += len(r.spent) - n
	r.spent = r.spent[:n]
	return removed
}

// Receive counts the reports of another node. It returns an error when one of them was refused.
func (p *Pacer) Receive(message []byte) error {
	if len(message) > 0 && message[0] == hourReportVersion {
		return p.receiveHours(message)
	}
	reports, err := readReports(message)
	if err != nil {
		p.stats.refused.Add(1)
		return err
	}
	for i := range reports {
		l := p.leader(reports[i].group)
		if l == nil {
			return errUnreadable
		}
		if refused := l.totals.add(&reports[i]); refused != nil {
			p.stats.refused.Add(1)
			err = refused
		}
	}
	return err
}

func (p *Pacer) receiveHours(message []byte) error {
	r, err := readHourReport(message)
	if err == nil {
		err = p.traffic.receive(&r)
	}
	if err != nil {
		p.stats.refused.Add(1)
	}
	return err
}
