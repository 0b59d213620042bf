package store

import (
	"context"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// The group of a purchase applies its returns itself, when they are reported. What is left to do is to take back the
// credits of what came back, in the groups of the touches. Any node can do it: it says how many pieces came back in all, a
// sum that only grows, so it does not matter how often and in which order nodes say it.

// CarryOutReturns takes back the credits of products that were returned to purchases of a group, and returns how many
// purchases it closed. A purchase that is not credited yet waits. It may be called by several nodes at the same time, and
// again after any failure.
func (s *Store) CarryOutReturns(ctx context.Context, g ids.Group) (closed int, err error) {
	var open []shard.OpenReturn
	if err := s.readGroup(g, func(b shard.Queries) { open = b.OpenReturns(creditPurchasesMax) }); err != nil {
		return 0, err
	}
	byGroup := make(map[ids.Group]*command.ApplyReturns)
	var done command.CloseReturns
	left := creditItemsMax
	for i := range open {
		if open[i].Uncredited || left <= 0 { // What is left over is for the next round.
			continue
		}
		done.Purchases = append(done.Purchases, open[i].ReturnedPurchase)
		for of, items := range open[i].Items { // order: by group, each a list.
			if byGroup[of] == nil {
				byGroup[of] = &command.ApplyReturns{}
			}
			byGroup[of].Returns = append(byGroup[of].Returns, items...)
			left -= len(items)
		}
	}
	if len(done.Purchases) == 0 {
		return 0, nil
	}
	for to, x := range byGroup { // order: they are independent.
		if err := s.proposeRepeatable(ctx, to, command.AppendApplyReturns(nil, s.Now().UnixMilli(), x)); err != nil {
			return 0, err
		}
	}
	return len(done.Purchases), s.proposeRepeatable(ctx, g, command.AppendCloseReturns(nil, s.Now().UnixMilli(), &done))
}
