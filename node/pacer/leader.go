package pacer

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// leader steers the campaigns of one group while this node leads it. Only its tick uses it, except totals.
type leader struct {
	p       *Pacer
	group   ids.Group
	due     chan struct{} // Receives when a tick is due.
	totals  totals
	leads   bool
	steered steered
	curves  curves
	number  uint64 // Of the last Pace that was applied.
	// auctions counts the auctions of all nodes since this node leads.
	auctions map[trafficKey]uint64
}

// proposeTimeout bounds the wait for a Pace. The next tick decides anew, so a long wait would only delay it.
const proposeTimeout = 2 * time.Second

// run makes the ticks that are due, until ctx ends.
func (l *leader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.due:
			l.tick(ctx)
		}
	}
}

// tick lets the controllers of all campaigns decide and replicates what changed enough.
func (l *leader) tick(ctx context.Context) {
	if !l.p.groups.Leads(l.group) || !l.p.pacesGroup(l.group) {
		l.resign()
		return
	}
	if !l.leads && !l.begin() {
		return
	}
	began := time.Now()
	now := l.p.c.Now()
	l.p.campaigns.collect(l.group, &l.steered)
	served, traffic, counted := l.totals.take()
	changes := l.decide(now, served, traffic)
	l.p.stats.ticks.Add(1)
	l.p.stats.tickNanos.Add(uint64(time.Since(began))) // Not negative.
	if len(changes)+len(counted) > 0 {
		l.propose(ctx, now, largest(changes), counted)
	}
}

// begin reads what the former leader left. It returns false when that is not possible now.
func (l *leader) begin() bool {
	err := l.p.groups.Read(l.group, func(r shard.Reader) error {
		s, number, counted := newSteered(r)
		l.steered, l.number, l.curves, l.auctions = s, number, newCurves(l.p.c.Market), map[trafficKey]uint64{}
		l.totals.lead(counted)
		return nil
	})
	if err != nil {
		l.p.c.Log.Warn("pacing_not_started", slog.Int("group", int(l.group)), slog.Any("err", err))
		return false
	}
	l.leads = true
	l.p.c.Log.Info("pacing_started", slog.Int("group", int(l.group)), slog.Int("campaigns_remembered", len(l.steered.memories)))
	return true
}

// resign forgets everything: another node leads.
func (l *leader) resign() {
	if l.leads {
		l.totals.resign()
		l.p.campaigns.forget(l.group)
		l.leads, l.steered, l.curves, l.auctions = false, steered{}, curves{}, nil
		l.p.stats.paced(l.group, steeredCount{})
		l.p.c.Log.Info("pacing_stopped", slog.Int("group", int(l.group)))
	}
}

// propose replicates decisions and which reports they contain. After a failure the next tick compares with what is in force,
// so that nothing is lost; it counts as a failure in the metrics.
func (l *leader) propose(ctx context.Context, now time.Time, changes []change, counted []command.CountedReport) {
	pace := command.Pace{Number: l.number + 1, Counted: counted[:min(len(counted), command.PaceNodesMax)]}
	slices.SortFunc(pace.Counted, func(a, b command.CountedReport) int { return int(a.Node) - int(b.Node) })
	for _, x := range changes {
		c := &l.steered.campaigns[x.ordinal-1]
		pace.Campaigns = append(pace.Campaigns, command.Paced{
			Campaign: x.ordinal, Word: c.decision.Word, Hold: c.decision.Hold, Status: c.decision.Status, Memory: c.memory(),
		})
	}
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	answer, err := l.p.groups.Propose(ctx, l.group, command.AppendPace(nil, now.UnixMilli(), &pace))
	var result command.Result
	if err == nil {
		result, err = command.ReadResult(answer)
	}
	switch {
	case err != nil:
		l.p.stats.unproposed.Add(1)
		l.p.c.Log.Debug("pacing_proposal_failed", slog.Int("group", int(l.group)), slog.Any("err", err))
		return
	case result.Refusal != command.Done:
		l.conflict(result.Refusal)
		return
	}
	l.number++
	l.totals.replicated(pace.Counted)
	l.p.stats.changes.Add(uint64(len(changes)))
	for _, x := range changes {
		c := &l.steered.campaigns[x.ordinal-1]
		c.remembered, c.moved, c.status = now.UnixMilli(), false, c.decision.Status
	}
}

// conflict handles the refusal of a Pace. A conflict means that another Pace was applied before it: an earlier one of this
// leader whose outcome was unknown, or one of a new leader. The next tick goes on with the number that is in the state.
func (l *leader) conflict(why command.Refusal) {
	l.p.stats.unproposed.Add(1)
	if why != command.Conflict {
		l.p.c.Log.Error("pacing_refused", slog.Int("group", int(l.group)), slog.String("refusal", why.String()))
		return
	}
	l.resign()
}
