package campaigns

import (
	"cmp"
	"errors"
	"math"
	"math/big"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// Errors of the service. Their texts are written to callers.
var (
	ErrNoVendor      = errors.New("there is no such vendor")
	ErrVendorDeleted = errors.New("the vendor was deleted, so its campaigns cannot be activated")
	ErrTerminated    = errors.New("the campaign is terminated")
	ErrReviewed      = errors.New("a reviewed campaign cannot become pending again")
)

// Field is a member of a campaign that a rule is about, whatever it is called in the bodies of an entry point.
type Field uint8

// The fields.
const (
	ChargeType Field = iota
	BudgetAmount
	BudgetPeriod
	StartDate
	EndDate
	TargetROAS
	Pacing
	Price
)

// Fault is a rule that a request breaks.
type Fault struct {
	Field Field
	Kind  string // The type of the violation in a 422: value_error or missing.
	Text  string
}

// Invalid is the refusal of a campaign, or of changes, whose members break rules.
type Invalid struct{ Faults []Fault }

// Error returns the first fault.
func (i *Invalid) Error() string {
	if len(i.Faults) == 0 {
		return "invalid campaign"
	}
	return "invalid campaign: " + i.Faults[0].Text
}

const (
	valueError = "value_error"
	missing    = "missing"
)

// totalFault is the fault of a budget that does not bound what purchases can cost.
var totalFault = Fault{BudgetPeriod, valueError, "CPA needs a budget of type total"}

// refused is what a refusal of the state machine means: it checks again what protects money, because two requests can
// have been checked at the same moment.
func refused(err error) error {
	switch {
	case errors.Is(err, store.ErrVendorDeleted):
		return ErrVendorDeleted
	case errors.Is(err, store.ErrNeedsTotal):
		return &Invalid{[]Fault{totalFault}}
	}
	return err
}

// faults are the rules that a draft breaks.
func (d *Draft) faults() (found []Fault) {
	c := &d.Campaign
	if c.Charge == model.CPA && c.Format != model.Listing {
		found = append(found, Fault{ChargeType, valueError, "CPA needs adFormat listing"})
	}
	if c.Charge.NeedsTotal() && (c.Period != model.Total || c.Budget == 0) {
		found = append(found, totalFault)
	}
	if d.End != nil && *d.End <= c.StartMillis {
		found = append(found, Fault{EndDate, valueError, "must be after startDate"})
	}
	found = append(found, pacingFaults(d.Pacing, c, d.End != nil)...)
	return append(found, roasFaults(d.TargetROAS)...)
}

// faults are the rules that changes break, with the campaign's own members for those that stay.
func (c *Changes) faults(now *model.Campaign) (found []Fault) {
	p := &c.Members
	start, end := now.StartMillis, now.EndMillis
	if p.StartMillis != nil {
		start = *p.StartMillis
	}
	if p.EndMillis != nil {
		end = *p.EndMillis
	}
	if c.NoEnd {
		end = 0
	}
	if (end != 0 || p.EndMillis != nil) && end <= start {
		field := EndDate
		if p.EndMillis == nil {
			field = StartDate
		}
		found = append(found, Fault{field, valueError, "endDate must be after startDate"})
	}
	if p.Period != nil && p.Budget == nil && now.Budget == 0 {
		found = append(found, Fault{BudgetAmount, missing, "required, the campaign has no budget yet"})
	}
	if (p.Period != nil || p.Budget != nil) && now.Charge.NeedsTotal() && *cmp.Or(p.Period, &now.Period) != model.Total {
		found = append(found, totalFault)
	}
	if p.Price != nil && *p.Price != model.FirstPrice && now.Type == model.Exclusive {
		found = append(found, Fault{Price, valueError, "an exclusive campaign pays its own bid: must be first"})
	}
	after := *now
	p.Change(&after)
	found = append(found, pacingFaults(p.Pacing, &after, after.EndMillis != 0)...)
	if p.Budget != nil && *p.Budget == 0 && now.Charge.NeedsTotal() {
		found = append(found, Fault{BudgetAmount, valueError, "CPA needs a budget"})
	}
	if c.NoEnd && p.Pacing == nil && after.Pacing == model.PacingEven && after.Budget != 0 && after.Period == model.Total {
		found = append(found, Fault{EndDate, valueError, "required while pacing is even; set pacing to asap with it"})
	}
	return append(found, roasFaults(c.TargetROAS)...)
}

// pacingFaults are the rules about how a budget is spent. Only a budget of type total leaves a choice: all others are
// spread over their period. pacing is what a request asks for, nil if it asks for nothing.
func pacingFaults(pacing *model.Pacing, c *model.Campaign, ends bool) []Fault {
	switch {
	case pacing == nil:
		return nil
	case c.Budget == 0 || c.Period != model.Total:
		return []Fault{{Pacing, valueError, "needs a budget of type total; all others are spread over their period"}}
	case *pacing == model.PacingEven && !ends:
		return []Fault{{Pacing, valueError, "even needs an endDate, until which the budget is spread"}}
	}
	return nil
}

func roasFaults(text string) []Fault {
	if _, ok := thousandths(text); text != "" && !ok {
		return []Fault{{TargetROAS, valueError, "must have at most three decimals"}}
	}
	return nil
}

// thousandths is a decimal times 1,000, which is how a target is kept; false when that is no whole number.
func thousandths(text string) (uint32, bool) {
	const one = 1_000
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.Mul(r, big.NewRat(one, 1)).IsInt() || !r.Num().IsUint64() || r.Num().Uint64() > math.MaxUint32 {
		return 0, false
	}
	return uint32(r.Num().Uint64()), true
}
