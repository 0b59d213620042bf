package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// PurchaseCrediting credits purchases to the ads that their users have touched, and takes credits of returned products back. The
// leader of a group does it for the purchases of the group; two that do the same at once do no harm.
type PurchaseCrediting struct {
	Store  *store.Store
	Groups []ids.Group // Those with purchases.
	Leads  func(ids.Group) bool
	Log    *slog.Logger
}

// Run does a round for each group every second until the context ends, and the next one at once while it closes purchases.
func (c *PurchaseCrediting) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, g := range c.Groups {
		all.Go(func() { c.run(ctx, g) })
	}
	all.Wait()
}

func (c *PurchaseCrediting) run(ctx context.Context, g ids.Group) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for more := true; more; {
			more = c.Leads(g) && c.round(ctx, g) && ctx.Err() == nil
		}
	}
}

// round reports whether it closed purchases, so that there may be more to do.
func (c *PurchaseCrediting) round(ctx context.Context, g ids.Group) bool {
	closed, err := c.Store.CreditPurchases(ctx, g)
	if err != nil && ctx.Err() == nil {
		c.Log.Warn("purchases_not_credited", slog.Int("group", int(g)), slog.Any("err", err))
		return false
	}
	returns, err := c.Store.CarryOutReturns(ctx, g)
	if err != nil && ctx.Err() == nil {
		c.Log.Warn("returns_not_carried_out", slog.Int("group", int(g)), slog.Any("err", err))
		return false
	}
	return closed > 0 || returns > 0
}
