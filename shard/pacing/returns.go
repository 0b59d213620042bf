package pacing // float: the leader computes this; its results are replicated as integers.

import (
	"math"

	"github.com/gavel-ads/gavel/shard/money"
)

// Returns steers one campaign toward its target return on ad spend: it lowers the bids while purchases bring less than
// the target. The zero value starts with full bids. What was spent counts against the target only as fast as purchases
// follow clicks (Params.PurchaseDelay), so that a campaign is not punished for purchases that are still to come.
type Returns struct {
	at      int64      // Time of the last update in milliseconds; 0: none.
	log     float64    // Logarithm of the factor, ln(Params.ReturnMin) to 0.
	pending [3]float64 // Spend whose purchases are still to come, by part of the delay.
	spend   float64    // Spend whose purchases have come, in memory.
	value   float64    // Value of purchases, in memory.

	countedSpend, countedValue money.Micros // The totals that Follow has counted.
}

// Return is what happened since the previous update.
type Return struct {
	Value      money.Micros // Value of purchases that were attributed.
	Spend      money.Micros // Billed for clicks.
	ClickPrice money.Micros // Mean price of a click.
	// PurchaseRate is the expected number of purchases of a click, in units of 1/2^32.
	PurchaseRate uint32
	TargetMilli  uint32 // Target return in thousandths; 0: none, which gives full bids.
}

// Update counts what happened and moves the factor. Follow calls it about every 10 minutes.
func (r *Returns) Update(now int64, o Return, p *Params) {
	dt := 0.0
	if r.at != 0 && now > r.at {
		dt = float64(now-r.at) / 1000
	}
	r.at = max(now, r.at)
	if o.TargetMilli == 0 {
		*r = Returns{at: r.at}
		return
	}
	tau := p.returnLoop(dt, &o)
	forget := decay(2 * dt / tau)
	r.spend, r.value = r.spend*forget, r.value*forget+amount(o.Value)
	for i, part := range p.PurchaseDelay {
		due := r.pending[i] * (1 - decay(dt/max(part.Mean, 1)))
		r.pending[i] += amount(o.Spend)*part.Share - due
		r.spend += due
	}
	price := max(amount(o.ClickPrice), 1)
	if r.spend+r.pending[0]+r.pending[1]+r.pending[2] < price {
		// Bids that win nothing learn nothing, so they rise until they win again.
		r.log = clamp(r.log*decay(dt/p.ReturnLoopMax), math.Log(p.ReturnMin), 0)
		return
	}
	wanted := r.value * 1000 / float64(o.TargetMilli)
	step := clamp(math.Log((wanted+price)/(r.spend+price)), -p.StepMax, p.StepMax)
	r.log = clamp(r.log+step*min(dt/tau, 1), math.Log(p.ReturnMin), 0)
}

// returnLoop returns the time in which the expected number of purchases is Params.ReturnEvidence at the current spend.
func (p *Params) returnLoop(dt float64, o *Return) float64 {
	purchases := amount(o.Spend) / max(amount(o.ClickPrice), 1) * float64(o.PurchaseRate) / Always
	if purchases*p.ReturnLoopMax <= p.ReturnEvidence*dt {
		return p.ReturnLoopMax
	}
	return max(p.ReturnEvidence*dt/purchases, p.ReturnLoopMin)
}

// Factor returns the largest factor of the bids for Plan.Ceiling, in units of 1/2^31.
func (r *Returns) Factor() uint32 { return uint32(math.Round(math.Exp(r.log) * Unshaded)) }

// ReturnMemory is what Returns must remember over a restart, as integers that can be replicated.
type ReturnMemory struct {
	AtMillis     int64
	Log          int32 // Logarithm of the factor in units of 2^-24, at most 0.
	Pending      [3]money.Micros
	Spend, Value money.Micros
	// CountedSpend and CountedValue are the totals that Follow has counted.
	CountedSpend, CountedValue money.Micros
}

// Memory returns what must be remembered.
func (r *Returns) Memory() ReturnMemory {
	m := ReturnMemory{
		AtMillis: r.at, Log: int32(math.Round(r.log * logUnit)),
		Spend: micros(r.spend), Value: micros(r.value), CountedSpend: r.countedSpend, CountedValue: r.countedValue,
	}
	for i, v := range r.pending {
		m.Pending[i] = micros(v)
	}
	return m
}

// RestoreReturns returns the Returns that a memory was taken of. Members out of range are clamped.
func RestoreReturns(m ReturnMemory) Returns {
	r := Returns{
		at: inRange(m.AtMillis), log: logOf(m.Log), spend: amount(m.Spend), value: amount(m.Value),
		countedSpend: min(max(m.CountedSpend, 0), money.MaxMicros), countedValue: min(max(m.CountedValue, 0), money.MaxMicros),
	}
	for i, v := range m.Pending {
		r.pending[i] = amount(v)
	}
	return r
}
