package pacer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

const (
	// hoursInterval is the time between two reports of a node's hours, and between two looks for hours that are over.
	hoursInterval = 10 * time.Second
	// hourGrace is the time from the end of an hour to its proposal: every node that is not cut off has reported by then.
	hourGrace = 2 * time.Minute
	// processMemory is how long a process that does not report any more is remembered. Its auctions count in the hours in
	// which it ran. BOUND: of a node that starts again and again, as many processes are remembered as start in this time.
	processMemory = 2 * time.Hour
)

// trafficProposer sums the auctions of all nodes by local hour while this node leads the meta group, and proposes to it each
// hour that is over, so that it learns when in a week auctions happen. An hour whose sum may be incomplete is left out: it
// would teach that there is little traffic. One goroutine calls run, others receive.
type trafficProposer struct {
	p    *Pacer
	done map[uint16]uint32 // The newest cell of each marketplace that was proposed, or is in the state.

	mu        sync.Mutex // LOCKS: guards what follows.
	led       int64      // Since when this node leads the meta group, in Unix seconds; 0: it does not.
	processes map[process]*processHours
}

// process is one start of a node.
type process struct {
	node  uint16
	start uint32
}

// processHours is what one process has reported.
type processHours struct {
	since, at int64 // When it began to count, and when the last complete report was made.
	seen      int64 // When the last report came.
	markets   map[uint16]*[hoursKept]hourCount
}

// run reports the hours of this node and proposes those of the cluster, until ctx ends.
func (t *trafficProposer) run(ctx context.Context) {
	ticker := time.NewTicker(hoursInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		meta := t.p.groups.Meta()
		if t.p.groups.Level(meta) < command.LevelPacing {
			continue
		}
		now := t.p.c.Now().Unix()
		t.lead(t.p.groups.Leads(meta), now)
		t.report(ctx, now)
		t.proposeAll(ctx, now)
	}
}

// lead begins or ends the time in which this node leads the meta group.
func (t *trafficProposer) lead(leads bool, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if leads == (t.led > 0) {
		return
	}
	t.led, t.processes, t.done = 0, nil, nil
	if leads {
		t.led, t.processes, t.done = now, map[process]*processHours{}, map[uint16]uint32{}
	}
}

// report gives the hours of this node to the leader of the meta group.
func (t *trafficProposer) report(ctx context.Context, now int64) {
	r := hourReport{node: t.p.c.Number, start: t.p.start, at: now}
	r.since, r.hours = t.p.hours.all()
	leader := t.p.peers.Leader(t.p.groups.Meta())
	if t.p.groups.Leads(t.p.groups.Meta()) {
		_ = t.receive(&r) // Only when the leadership ended just now; the next report repeats it.
		return
	}
	if leader == "" || leader == t.p.c.Node {
		return
	}
	for _, message := range r.split(t.p.c.ReportBytesMax) {
		ctx, cancel := context.WithTimeout(ctx, sendTimeout)
		err := t.p.peers.Send(ctx, leader, message)
		cancel()
		t.p.stats.sent.Add(1)
		if err != nil {
			t.p.stats.failed.Add(1)
			return
		}
	}
}

// receive counts a report. It returns an error when this node does not lead the meta group.
func (t *trafficProposer) receive(r *hourReport) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.led == 0 {
		return errNotLeader
	}
	now := t.p.c.Now().Unix()
	x := t.processes[process{r.node, r.start}]
	if x == nil {
		x = &processHours{markets: map[uint16]*[hoursKept]hourCount{}}
		t.processes[process{r.node, r.start}] = x
	}
	x.since, x.at, x.seen = r.since, max(x.at, r.at), now
	for i := range r.hours {
		x.put(&r.hours[i])
	}
	for of, x := range t.processes {
		if now-x.seen > int64(processMemory/time.Second) {
			delete(t.processes, of)
		}
	}
	return nil
}

// put replaces the count of an hour, or adds it in place of the oldest one.
func (x *processHours) put(h *marketHour) {
	hours := x.markets[h.marketplace]
	if hours == nil {
		hours = new([hoursKept]hourCount)
		x.markets[h.marketplace] = hours
	}
	oldest := 0
	for i := range hours {
		if hours[i].cell == h.cell {
			hours[i] = h.hourCount
			return
		}
		if hours[i].cell < hours[oldest].cell {
			oldest = i
		}
	}
	if h.cell > hours[oldest].cell {
		hours[oldest] = h.hourCount
	}
}

// proposeAll proposes the last hour of each marketplace that is over and was not proposed yet, while this node leads.
func (t *trafficProposer) proposeAll(ctx context.Context, now int64) {
	view := t.p.c.Market.View()
	for ordinal := uint16(1); view.Marketplace(ordinal) != nil && ctx.Err() == nil; ordinal++ {
		zone := t.p.c.Zone(ordinal)
		current := hourAt(zone, now-int64(hourGrace/time.Second))
		h := hourAt(zone, current.start-1)
		if view.Marketplace(ordinal).CreatedMillis > h.start*1000 {
			continue
		}
		if sum, complete := t.sum(ordinal, &h); complete && !t.known(ordinal, h.cell) {
			t.propose(ctx, ordinal, &h, sum)
		}
	}
}

// sum returns the auctions of all nodes in an hour of a marketplace. They are complete when this node has led since before
// the hour began, so that also what processes that ended have served is known; or when every member has counted since
// before it began and has reported after its end.
func (t *trafficProposer) sum(marketplace uint16, h *localHour) (sum hourCount, complete bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum.cell = h.cell
	whole := 0
	for _, x := range t.processes {
		if x.since <= h.start && x.at >= h.end {
			whole++
		}
		if hours := x.markets[marketplace]; hours != nil {
			sum.addHour(hours, h.cell)
		}
	}
	return sum, t.led > 0 && (t.led <= h.start || whole >= t.p.peers.Members())
}

// addHour adds one of the hours of a process.
func (c *hourCount) addHour(hours *[hoursKept]hourCount, cell uint32) {
	for i := range hours {
		if hours[i].cell != cell {
			continue
		}
		for f, n := range hours[i].auctions {
			c.auctions[f] = min(c.auctions[f]+n, command.TrafficMax)
		}
	}
}

// known reports whether an hour was proposed or learned already.
func (t *trafficProposer) known(marketplace uint16, cell uint32) bool {
	if done, known := t.done[marketplace]; known {
		return cell <= done
	}
	err := t.p.groups.Read(t.p.groups.Meta(), func(r shard.Reader) error {
		t.done[marketplace] = shard.Queries{R: r}.Traffic(marketplace).Cell
		return nil
	})
	return err != nil || cell <= t.done[marketplace]
}

// propose proposes an hour. After an error the next call repeats it; the state machine counts an hour once.
func (t *trafficProposer) propose(ctx context.Context, marketplace uint16, h *localHour, sum hourCount) {
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	x := command.Traffic{Marketplace: marketplace, Cell: h.cell, Hour: h.hour, Minutes: h.minutes(), Auctions: sum.auctions}
	answer, err := t.p.groups.Propose(ctx, t.p.groups.Meta(), command.AppendTraffic(nil, t.p.c.Now().UnixMilli(), &x))
	var result command.Result
	if err == nil {
		result, err = command.ReadResult(answer)
	}
	if err != nil || result.Refusal != command.Done {
		t.p.stats.unproposed.Add(1)
		t.p.c.Log.Debug("traffic_proposal_failed", slog.Int("marketplace", int(marketplace)),
			slog.String("refusal", result.Refusal.String()), slog.Any("err", err))
		return
	}
	t.done[marketplace] = h.cell
	t.p.stats.hours.Add(1)
}
