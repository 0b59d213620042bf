package cluster

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

const (
	// tickInterval is how often a leader commits its time. All other nodes measure the age of their replicas by these
	// ticks, so it is a small part of the smallest staleness that can be configured.
	tickInterval = 250 * time.Millisecond
	// tickIntervalSoleVoter is enough for the only voter of a group, whose replica cannot be old. Reports promise to be
	// complete after 2 s, which needs a clock that is younger.
	tickIntervalSoleVoter = time.Second
	// tickTimeout bounds the wait for a tick; the next one replaces it.
	tickTimeout = time.Second
	// contactMax is how long ago a leader may have contacted this node to count as reachable.
	contactMax = 2 * time.Second
)

// tick commits the time of a group while this node leads it. Budget periods, the duplicate horizon and the age of
// replicas (ReplicaAges) depend on it.
func (c *Cluster) tick(ctx context.Context, g ids.Group) {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	leads, last := false, c.now()
	for {
		soleVoter := c.soleVoter(g)
		c.ages.setSoleVoter(g, soleVoter)
		led := leads
		leads = c.updateInOrder(g)
		if leads && !led && c.onLead != nil {
			c.tickers.Go(func() { c.onLead(ctx, g) })
		}
		if now := c.now(); leads && (!soleVoter || now.Sub(last) >= tickIntervalSoleVoter-tickInterval/2) {
			c.tickOnce(ctx, g, now)
			last = now
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// updateInOrder records the time when the group has a reachable leader and this node keeps up with it. It returns
// whether this node leads the group.
func (c *Cluster) updateInOrder(g ids.Group) (leads bool) {
	group := c.group(g)
	f := group.Freshness()
	known := f.Leads || group.Leader() != "" && time.Since(f.Contact) < contactMax
	if known && !c.ages.stale(g) {
		c.inOrder[g].Mark()
	}
	return f.Leads
}

// Tick commits the time of the groups that this node leads at once. A new marketplace has no budget periods before the
// next tick, so its first events would belong to none.
func (c *Cluster) Tick(ctx context.Context) {
	for _, g := range c.Groups() {
		if c.Leads(g) {
			c.tickOnce(ctx, g, c.now())
		}
	}
}

// tickOnce commits this node's time as that of the group's leader. It is proposed even on a disk below its reserve: if
// all nodes are below it, no replica would be fresh without ticks, and no auction would have winners.
func (c *Cluster) tickOnce(ctx context.Context, g ids.Group, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, tickTimeout)
	defer cancel()
	advance := command.Advance{Periods: c.periods(now)}
	_, err := c.group(g).ProposeReserved(ctx, command.AppendAdvance(nil, now.UnixMilli(), &advance))
	if err != nil {
		c.log.Debug("clock_tick_failed", slog.Int("group", int(g)), slog.Any("err", err))
	}
}
