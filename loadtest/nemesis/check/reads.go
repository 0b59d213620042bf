package check

import (
	"sort"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// Reads checks that every read of budgets, reports and wallets during the run adds up at the moment of the read.
//
// A read that was invoked at a and returned at b certainly contains every charge that was finished before a, and certainly no charge that
// was called after b. Every read has to lie between these two bounds. Linearizability requires more, but this check works for every
// campaign and wallet, also when money ran out.
func Reads(h *history.History) Result {
	v := Result{Check: "budgets, reports and balances add up at every read"}
	of, ample := charges(h), ampleCampaigns(h)
	bounds := map[*history.Campaign]*tally{}
	for _, c := range h.Campaigns() {
		bounds[c] = newTally(of[c])
		bounds[c].ample = ample[c]
	}
	for _, r := range h.Budgets {
		v.Checked++
		budgetRead(h, bounds[r.Campaign], r, &v)
	}
	for _, r := range h.Reports {
		v.Checked++
		reportRead(bounds[r.Campaign], r, &v)
	}
	for _, r := range h.Wallets {
		v.Checked++
		walletRead(h, bounds, r, &v)
	}
	return v
}

// tally is the times of all charges of a campaign, ascending.
type tally struct {
	calls, finishes []history.Instant
	ample           bool // No charge of the campaign was reduced.
}

func newTally(all []*charge) *tally {
	t := &tally{}
	for _, c := range all {
		t.calls = append(t.calls, c.call)
		t.finishes = append(t.finishes, c.finish)
	}
	before := func(of []history.Instant) func(i, j int) bool { return func(i, j int) bool { return of[i] < of[j] } }
	sort.Slice(t.calls, before(t.calls))
	sort.Slice(t.finishes, before(t.finishes))
	return t
}

// within returns how many charges are certainly and how many are possibly in a read between two instants.
func (t *tally) within(invoke, finish history.Instant) (least, most int) {
	least = sort.Search(len(t.finishes), func(i int) bool { return t.finishes[i] >= invoke })
	most = sort.Search(len(t.calls), func(i int) bool { return t.calls[i] > finish })
	return least, most
}

func budgetRead(h *history.History, t *tally, r history.BudgetRead, v *Result) {
	c := r.Campaign
	least, most := t.within(r.Invoke, r.Return)
	inForce := c.Budget // The largest budget that can have been in force until the read.
	set := r.Amount == c.Budget
	for _, change := range h.Changes {
		if change.Campaign == c && change.Invoke <= r.Return && change.Outcome != history.Refused {
			inForce = max(inForce, change.Amount)
			set = set || change.Amount == r.Amount
		}
	}
	switch {
	case !set:
		v.AddViolation("campaign %s at %v: a budget of %v, which nobody has set", c.Name, r.Return, r.Amount)
	case r.Remaining != max(r.Amount-r.Used, 0):
		v.AddViolation("campaign %s at %v: budget %v, used %v, remaining %v", c.Name, r.Return, r.Amount, r.Used, r.Remaining)
	case r.Used > inForce:
		v.AddViolation("campaign %s at %v: OVERSPEND: %v used, no budget above %v was ever in force", c.Name, r.Return, r.Used, inForce)
	case r.Used > shop.Micros(most)*c.Price:
		v.AddViolation("campaign %s at %v: %v used, though only %d tokens at %v had been reported", c.Name, r.Return, r.Used, most, c.Price)
	case !c.Daily && t.ample && r.Used < shop.Micros(least)*c.Price:
		v.AddViolation("campaign %s at %v: %v used, though %d charges at %v had been acknowledged", c.Name, r.Return, r.Used, least, c.Price)
	}
}

func reportRead(t *tally, r history.ReportRead, v *Result) {
	c := r.Campaign
	_, most := t.within(r.Invoke, r.Return)
	charged, spent := r.Charged[c.Charge], r.Spent[c.Charge]
	bought := c.Charge == history.Purchase // Charges may have been reversed, and items may have come back.
	switch {
	case charged > int64(most):
		v.AddViolation("campaign %s at %v: DOUBLE CHARGE: %d charged, though only %d tokens had been reported", c.Name, r.Return, charged, most)
	case spent > shop.Micros(charged)*c.Price, t.ample && !bought && spent != shop.Micros(charged)*c.Price:
		v.AddViolation("campaign %s at %v: %d charged for %v at %v", c.Name, r.Return, charged, spent, c.Price)
	case charged > r.Total[c.Charge] && !bought:
		v.AddViolation("campaign %s at %v: %d charged of %d events", c.Name, r.Return, charged, r.Total[c.Charge])
	}
}

func walletRead(h *history.History, bounds map[*history.Campaign]*tally, r history.WalletRead, v *Result) {
	least, most := r.Vendor.Deposit, r.Vendor.Deposit
	for _, p := range h.Payments {
		if p.Vendor != r.Vendor || p.Outcome == history.Refused && !p.Doubtful || p.Invoke > r.Return {
			continue
		}
		certain := p.Outcome == history.OK && p.Return < r.Invoke
		if p.Amount < 0 || certain {
			least += p.Amount
		}
		if p.Amount > 0 || certain {
			most += p.Amount
		}
	}
	for _, c := range r.Vendor.Campaigns {
		certain, possible := bounds[c].within(r.Invoke, r.Return)
		least -= shop.Micros(possible) * c.Price
		if bounds[c].ample {
			most -= shop.Micros(certain) * c.Price
		}
	}
	if r.Balance < 0 || r.Balance < least || r.Balance > most {
		v.AddViolation("wallet of %s at %v: balance %v, want %v to %v and never below zero", r.Vendor.ID, r.Return, r.Balance, max(least, 0), most)
	}
}
