package pacer

import (
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

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
	l.steered.turns.visited(index)
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
