package pacing // float: the leader computes this; its results are replicated as integers.

import "github.com/gavel-ads/gavel/shard/money"

// Totals are what a campaign with a target return has paid and sold, in sums that only grow. They may begin at any
// time: the first ones that Follow sees only say where it begins.
type Totals struct {
	Clicks, Purchases uint64       // Charged clicks, and credited items.
	Spend, Value      money.Micros // Charged for the clicks, and credited.
	TargetMilli       uint32       // Target return in thousandths; 0: none, which gives full bids.
}

// The rate of purchases that is assumed before the campaign's own counts: that of learn.PriorPurchase, with its weight.
const (
	priorBought  = 2.7
	priorClicked = 27
)

// Follow counts what the totals have grown by and moves the factor, once in Params.ReturnEvery seconds; calls between
// change nothing. So it may be called as often as a campaign is ticked, and a leader that takes over counts everything
// since the memory exactly once. A target that was changed applies from the next update on.
func (r *Returns) Follow(now int64, t *Totals, p *Params) {
	now = inRange(now)
	switch {
	case t.TargetMilli == 0:
		*r = Returns{}
		return
	case r.at == 0:
		r.at, r.countedSpend, r.countedValue = max(now, 1), t.Spend, t.Value
		return
	case now-r.at < int64(p.ReturnEvery*1000):
		return
	}
	o := Return{
		Spend: max(t.Spend-r.countedSpend, 0), Value: max(t.Value-r.countedValue, 0), TargetMilli: t.TargetMilli,
		PurchaseRate: uint32(clamp((float64(t.Purchases)+priorBought)/(float64(t.Clicks)+priorClicked), 0, 0.5) * Always),
	}
	if t.Clicks > 0 {
		o.ClickPrice = money.Micros(amount(t.Spend) / float64(t.Clicks))
	}
	r.countedSpend, r.countedValue = t.Spend, t.Value
	r.Update(now, o, p)
}

// Ceiling returns Plan.Ceiling for a campaign with a target return.
func (r *Returns) Ceiling() uint32 { return min(r.Factor(), Unshaded) }
