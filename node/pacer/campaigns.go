package pacer

import (
	"maps"
	"sync"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// campaigns holds what the controllers need to know of every campaign on this node, as the state machines feed it: a node
// may become the leader of a group at any time. LOCKS: mu guards everything in it.
type campaigns struct {
	mu     sync.Mutex
	groups map[ids.Group]*groupCampaigns
}

// groupCampaigns are the campaigns of one group.
type groupCampaigns struct {
	loads     int        // How often the group was loaded.
	campaigns []settings // The campaign with ordinal n is at index n-1.
	watched   bool       // This node steers the group.
	changed   []uint32   // Ordinals that were fed since the last collect, while watched.
	periods   map[uint16]command.Periods
}

// settings are a campaign's members that decide how its budget is spread. A campaign without balances was not fed.
type settings struct {
	balances    *market.Balances
	marketplace uint16
	format      model.AdFormat
	charge      model.ChargeType
	period      model.Period
	budget      money.Micros
	target      uint32 // Target return in thousandths; 0: the campaign is not steered toward one.
	even        bool   // A total budget is spread over the campaign's dates.
	start, end  int64  // In Unix milliseconds; an end of 0 is none.
	carry       carry
	active      bool
	ended       bool // Terminated.
	scheduled   bool // There are hours of the week without bids.
	hours       weekHours
}

// PutCampaign receives a campaign that was added or changed, with its balances.
func (p *Pacer) PutCampaign(c *model.Campaign, b *market.Balances) {
	p.campaigns.mu.Lock()
	defer p.campaigns.mu.Unlock()
	g := p.campaigns.group(c.Group)
	for int(c.Ordinal) > len(g.campaigns) {
		g.campaigns = append(g.campaigns, settings{})
	}
	hours, target := hoursOf(c.Schedule), uint32(0)
	if c.HasReturn() {
		target = c.TargetROASMilli
	}
	g.campaigns[c.Ordinal-1] = settings{
		balances: b, marketplace: c.Marketplace, format: c.Format, charge: c.Charge, period: c.Period, budget: c.Budget, target: target,
		even: c.Pacing == model.PacingEven, start: c.StartMillis, end: c.EndMillis, scheduled: hours != allHours, hours: hours,
		active: c.Active && c.Status == model.Approved, ended: c.Status == model.Terminated,
	}
	if g.watched {
		g.changed = append(g.changed, c.Ordinal)
	}
}

// PutPeriods receives the budget periods of a marketplace that have begun in a group.
func (p *Pacer) PutPeriods(group ids.Group, x *command.Periods) {
	p.campaigns.mu.Lock()
	defer p.campaigns.mu.Unlock()
	p.campaigns.group(group).periods[x.Marketplace] = *x
}

// Reset removes the campaigns of a group, before it is loaded again.
func (p *Pacer) Reset(group ids.Group) {
	p.campaigns.mu.Lock()
	defer p.campaigns.mu.Unlock()
	g := p.campaigns.group(group)
	*g = groupCampaigns{loads: g.loads + 1, periods: map[uint16]command.Periods{}}
}

// group returns the campaigns of a group. LOCKS: mu is held.
func (c *campaigns) group(g ids.Group) *groupCampaigns {
	x := c.groups[g]
	if x == nil {
		x = &groupCampaigns{periods: map[uint16]command.Periods{}}
		c.groups[g] = x
	}
	return x
}

// forget ends the recording of changes for collect.
func (c *campaigns) forget(group ids.Group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.group(group)
	g.watched, g.changed = false, nil
}

// collect copies the campaigns that changed since the last call to steered, or all of them when the group was loaded again
// since, and the current periods.
func (c *campaigns) collect(group ids.Group, into *steered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.group(group)
	if into.loads != g.loads {
		into.restart(g.loads)
		for i := range g.campaigns {
			into.put(uint32(i+1), &g.campaigns[i]) // Ordinals have 32 bits.
		}
	} else {
		for _, ordinal := range g.changed {
			into.put(ordinal, &g.campaigns[ordinal-1])
		}
	}
	g.watched, g.changed = true, g.changed[:0]
	clear(into.periods)
	maps.Copy(into.periods, g.periods)
}
