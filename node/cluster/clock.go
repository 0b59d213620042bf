package cluster

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

const (
	// tickEvery is how often a leader commits its time. Every other node measures the age of its copy by that, so it is
	// a small part of the least staleness that can be set.
	tickEvery = 250 * time.Millisecond
	// tickAloneEvery does for a node whose copies cannot be old. Reports promise completeness within 2 s, which needs a
	// clock younger than that.
	tickAloneEvery = time.Second
	// tickTimeout bounds the wait for one tick: the next one says more.
	tickTimeout = time.Second
	// contactMax is how long ago a leader may have called to be counted as there.
	contactMax = 2 * time.Second
)

// tick moves the clock of a group while this node leads it. Budget periods and the duplicate horizon hang on the clock,
// and so does the age of the copies (Freshness).
func (c *Cluster) tick(ctx context.Context, g ids.Group) {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	leads, last := false, c.now()
	for {
		alone := c.alone(g)
		c.freshness.setAlone(g, alone)
		before := leads
		leads = c.look(g)
		if leads && !before && c.onLead != nil {
			c.tickers.Go(func() { c.onLead(ctx, g) })
		}
		if now := c.now(); leads && (!alone || now.Sub(last) >= tickAloneEvery-tickEvery/2) {
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

// look notes whether the group has a leader and this node keeps up with it, and reports whether it is this node.
func (c *Cluster) look(g ids.Group) (leads bool) {
	group := c.group(g)
	f := group.Freshness()
	known := f.Leads || group.Leader() != "" && time.Since(f.Contact) < contactMax
	if known && !c.freshness.stale(g) {
		c.led[g].Mark()
	}
	return f.Leads
}

// Tick moves the clocks of the groups that this node leads at once. A marketplace that was just made has no budget periods before
// that: what its first events spend and count would belong to none.
func (c *Cluster) Tick(ctx context.Context) {
	for _, g := range c.Groups() {
		if c.Leads(g) {
			c.tickOnce(ctx, g, c.now())
		}
	}
}

// tickOnce commits this node's time as that of the group's leader. A disk below its reserve takes it too: where all nodes are, no copy
// would be fresh without it, and no auction would sell.
func (c *Cluster) tickOnce(ctx context.Context, g ids.Group, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, tickTimeout)
	defer cancel()
	advance := command.Advance{Periods: c.periods(now)}
	_, err := c.group(g).ProposeVital(ctx, command.AppendAdvance(nil, now.UnixMilli(), &advance))
	if err != nil {
		c.log.Debug("clock_tick_failed", slog.Int("group", int(g)), slog.Any("err", err))
	}
}
