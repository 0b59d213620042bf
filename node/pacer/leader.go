package pacer

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
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

// decide makes one tick of every campaign that served something or changed, and of every idle one whose turn it is. It
// returns the changes that are to be replicated.
func (l *leader) decide(now time.Time, served map[uint32]pacing.Served, traffic map[trafficKey]uint64) (changes []change) {
	for ordinal, s := range served {
		l.steered.serve(ordinal, s)
	}
	for key, n := range traffic {
		l.auctions[key] += n
	}
	t := tick{l: l, kinds: l.kinds(now, traffic), millis: now.UnixMilli()}
	for batch := range l.steered.turns.next() {
		l.steered.preload(batch)
		for _, i := range batch {
			t.visit(i)
		}
	}
	l.p.stats.paced(l.group, l.steered.counted)
	return t.changes
}

// tick is one tick of a leader.
type tick struct {
	l       *leader
	kinds   *kinds
	millis  int64
	of      *kind // That of the campaign before: most have the same one.
	changes []change
}

// visit lets the campaign at an index decide, unless it waits.
func (t *tick) visit(index int) {
	l := t.l
	c, ordinal := &l.steered.campaigns[index], uint32(index+1) // Ordinals have 32 bits.
	if key := (kindKey{trafficKey{c.marketplace, c.format}, c.charge == model.CPM}); t.of == nil || t.of.key != key {
		t.of = t.kinds.of(key)
	}
	if t.of.calendar == nil {
		return // It goes on asking.
	}
	l.steered.turns.served(index)
	if c.waits() {
		l.steered.count(c, steeredCount{})
		return
	}
	served := c.served.Wins > 0
	l.follow(c, ordinal, t.millis)
	c.tick(t.millis, t.of, l.curveOf(c, t.of))
	l.steered.count(c, countOf(&c.decision))
	if size := c.changeOf(); size > 0 || c.due(ordinal, t.millis) || l.p.everyChange && served {
		t.changes = append(t.changes, change{ordinal, size})
	}
}

// follow lets the target return of a campaign see what was paid and sold.
func (l *leader) follow(c *controlled, ordinal uint32, now int64) {
	if c.target == 0 || l.p.groups.Level(l.group) < command.LevelTargetReturn {
		c.returns = pacing.Returns{}
		return
	}
	x := l.p.c.Market.Returned(l.group, ordinal)
	c.returns.Follow(now, &pacing.Totals{
		Clicks: x.Clicks, Purchases: x.Purchases, Spend: x.Spend, Value: x.Value, TargetMilli: c.target,
	}, l.p.c.Params)
}

// curveOf returns the curve that the plan of a campaign follows.
func (l *leader) curveOf(c *controlled, of *kind) *pacing.Curve {
	if c.scheduled {
		return l.curves.during(of.traffic, &c.settings)
	}
	return of.traffic.curve
}

// kindKey names a kind. Impressions are charged after another time than clicks.
type kindKey struct {
	trafficKey
	impressions bool
}

// kind is what all campaigns of a marketplace, an ad format and an event that they pay for have in common in one tick.
type kind struct {
	key      kindKey
	calendar *calendar // Nil while the marketplace has no periods.
	traffic  *formatCurve
	params   pacing.Params
	auctions uint64 // Of this tick.
	counted  uint64 // Since this node leads.
}

// kinds makes kinds when they are needed.
type kinds struct {
	l         *leader
	now       time.Time
	traffic   map[trafficKey]uint64
	calendars map[uint16]*calendar
	made      map[kindKey]*kind
}

func (l *leader) kinds(now time.Time, traffic map[trafficKey]uint64) *kinds {
	return &kinds{l, now, traffic, map[uint16]*calendar{}, map[kindKey]*kind{}}
}

func (k *kinds) of(key kindKey) *kind {
	x := k.made[key]
	if x == nil {
		c := &k.l.p.c
		x = &kind{
			key: key, calendar: k.calendar(key.marketplace), auctions: k.traffic[key.trafficKey], counted: k.l.auctions[key.trafficKey],
			traffic: k.l.curves.of(key.trafficKey, c.Zone(key.marketplace), k.now), params: *c.Params,
		}
		x.params.ClickDelay = c.Params.ImpressionDelay
		if !key.impressions {
			learned := c.Market.ClickDelay(k.l.group, key.marketplace)
			x.params.ClickDelay = float64(learned.Millis()) / 1000
		}
		k.made[key] = x
	}
	return x
}

// calendar returns the calendar of a marketplace, nil when it has no periods yet.
func (k *kinds) calendar(marketplace uint16) *calendar {
	c := k.calendars[marketplace]
	periods, known := k.l.steered.periods[marketplace]
	if c == nil && known {
		made := newCalendar(periods, k.l.p.c.Zone(marketplace), k.now)
		c = &made
		k.calendars[marketplace] = c
	}
	return c
}

// tick lets one campaign decide with what it has served.
func (c *controlled) tick(now int64, of *kind, curve *pacing.Curve) {
	var plan pacing.Plan
	of.calendar.fill(&plan, &c.settings, now)
	if c.target != 0 {
		plan.Ceiling = c.returns.Ceiling()
	}
	s := c.served
	c.served = pacing.Served{}
	if s.Wins > 0 {
		c.price, c.moved = int64(s.Expected)/int64(s.Wins), true // Counts are far below 2^63.
	}
	s.Auctions = of.auctions
	if c.ticked {
		s.Auctions = of.counted - c.auctions
	}
	c.auctions, c.ticked = of.counted, true
	c.decision = c.state.Tick(now, &plan, s, curve, &of.params)
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
