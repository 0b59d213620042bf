// Package check compares the history of a run with what the interface promises: what was acknowledged must be in reports and balances,
// once, at the price of its auction, within budgets and wallets, at every read.
//
// It is written from the text of the interface alone and shares no code with the node, so that it does not repeat a mistake of the node.
// An operation of unknown outcome may have happened at any time after it was invoked, or not at all; no check counts it as a failure,
// and none leaves it out.
package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// violationsMax is how many violations of one check are described. BOUND: a broken node may violate everything at once.
const violationsMax = 20

// Result is the result of one check.
type Result struct {
	Check      string   `json:"check"`
	Checked    int      `json:"checked"` // How many operations, reads or values were compared.
	Violations []string `json:"faults"`
	Count      int      `json:"violations"` // How many violations there are, described or not.
	Note       string   `json:"note,omitempty"`
	// MayBeEmpty says that a run may have nothing to compare here, because it is random whether the faults in question occur.
	MayBeEmpty bool `json:"-"`
}

// RequireCompared adds a violation when nothing was compared, because a check that compared nothing proves nothing.
func (v *Result) RequireCompared() {
	if v.Checked == 0 && !v.MayBeEmpty {
		v.AddViolation("there was nothing to compare")
	}
}

// AddViolation adds a violation with its description.
func (v *Result) AddViolation(format string, a ...any) {
	if v.Count++; v.Count <= violationsMax {
		v.Violations = append(v.Violations, fmt.Sprintf(format, a...))
	}
}

// charge is the charge of one token. It happens at most once, after the first body with the token was sent (call) and, when one was
// acknowledged, before the first acknowledgement (finish). That of a purchase happens at any time after its call.
type charge struct {
	token        *history.Token
	call, finish history.Instant
}

// charges returns the possible charges of each campaign, one for each token that was reported.
func charges(h *history.History) map[*history.Campaign][]*charge {
	byToken := map[*history.Token]*charge{}
	all := map[*history.Campaign][]*charge{}
	for _, b := range h.Bodies {
		for _, e := range b.Events {
			if !e.Pays() {
				continue
			}
			c := byToken[e.Token]
			if c == nil {
				c = &charge{token: e.Token, call: b.Sent, finish: history.Never}
				byToken[e.Token] = c
				all[e.Token.Campaign] = append(all[e.Token.Campaign], c)
			}
			c.call = min(c.call, b.Sent)
			if e.Array != history.Purchase {
				c.finish = min(c.finish, b.Acked)
			}
		}
	}
	return all
}

// FinalState is what the cluster reports at the end of a run.
type FinalState struct {
	Reports  map[*history.Campaign]history.ReportRead
	Budgets  map[*history.Campaign]history.BudgetRead
	Balances map[*history.Vendor]shop.Micros
	Other    OtherReports
	Lost     []string // Descriptions of acknowledged events that the node did not know when they were sent again.
	Resent   int      // How many acknowledged events were sent again.
}

// Events checks that every acknowledged event is counted exactly once, and that nothing is counted that was never sent.
func Events(h *history.History, final *FinalState) Result {
	v := Result{Check: "every acknowledged event once, nothing never attempted"}
	type count struct{ acked, attempted map[string]bool }
	counts := map[*history.Campaign]*[2]count{}
	for _, c := range h.Campaigns() {
		counts[c] = &[2]count{}
		for i := range counts[c] {
			counts[c][i] = count{map[string]bool{}, map[string]bool{}}
		}
	}
	for _, b := range h.Bodies {
		for _, e := range b.Events {
			if e.Token == nil || e.Array > history.Click {
				continue
			}
			n := &counts[e.Token.Campaign][e.Array]
			n.attempted[e.ID] = true
			if b.Acked != history.Never {
				n.acked[e.ID] = true
			}
		}
	}
	for _, c := range h.Campaigns() {
		for array := range counts[c] {
			n, total := counts[c][array], final.Reports[c].Total[array]
			v.Checked += len(n.attempted)
			if total < int64(len(n.acked)) || total > int64(len(n.attempted)) {
				v.AddViolation("campaign %s: %d %s reported, %d acknowledged, %d attempted", c.Name, total, history.Names[array], len(n.acked), len(n.attempted))
			}
		}
	}
	v.Checked += final.Resent
	for _, lost := range final.Lost {
		v.AddViolation("LOST %s", lost)
	}
	return v
}

// Unknown checks that every body and payment of unknown outcome was resolved by repeating it.
func Unknown(h *history.History) Result {
	v := Result{Check: "unknown outcomes resolved by retry", MayBeEmpty: true}
	attempts := 0
	for _, b := range h.Bodies {
		attempts += b.Unknown
		if b.Unknown > 0 {
			v.Checked++
		}
		if b.Acked == history.Never {
			v.AddViolation("body %d of %d events, sent at %v, is still unknown after %d attempts", b.Number, len(b.Events), b.Sent, b.Attempts)
		}
	}
	for _, p := range h.Payments {
		if p.Outcome == history.Unknown {
			v.AddViolation("a payment of %v to %s, sent at %v, is still unknown after %d attempts", p.Amount, p.Vendor.ID, p.Invoke, p.Attempts)
		}
	}
	v.Note = fmt.Sprintf("%d attempts were unknown", attempts)
	return v
}

// Charges checks what was billed: each token at most once and at most its price, and each acknowledged token in full where neither the
// budget nor the wallet can have run out.
func Charges(h *history.History, final *FinalState) Result {
	v := Result{Check: "each token charged at most once, at its price"}
	of, ample := charges(h), ampleCampaigns(h)
	for _, c := range h.Campaigns() {
		if c.Charge == history.Purchase {
			continue // PurchaseCharges checks it.
		}
		r := final.Reports[c]
		tokens, certain := int64(len(of[c])), int64(0)
		for _, ch := range of[c] {
			if ch.finish != history.Never {
				certain++
			}
		}
		v.Checked += len(of[c])
		charged, spent := r.Charged[c.Charge], r.Spent[c.Charge]
		free := chargedForFree(c, &r.Numbers)
		switch {
		case charged > tokens:
			v.AddViolation("campaign %s: DOUBLE CHARGE: %d charged, %d tokens reported", c.Name, charged, tokens)
		case spent > shop.Micros(charged)*c.Price:
			v.AddViolation("campaign %s: %v billed for %d charges at %v", c.Name, spent, charged, c.Price)
		case free != "":
			v.AddViolation("campaign %s: %s charged, which are free", c.Name, free)
		case ample[c] && (charged < certain || spent != shop.Micros(charged)*c.Price):
			v.AddViolation("campaign %s: %d charged for %v at %v, though %d tokens were acknowledged and no money was short", c.Name, charged, spent, c.Price, certain)
		}
	}
	return v
}

// chargedForFree names the array whose events were charged though the campaign does not pay for them; empty when there is none.
func chargedForFree(c *history.Campaign, n *history.Numbers) string {
	for array := range history.Charges {
		if array != c.Charge && (n.Charged[array] != 0 || n.Spent[array] != 0) {
			return history.Names[array]
		}
	}
	return ""
}

// ampleCampaigns returns the campaigns whose charges neither the budget nor the wallet can have reduced: all events of the run together
// cost less than the least budget that the campaign ever had.
func ampleCampaigns(h *history.History) map[*history.Campaign]bool {
	events := 0
	for _, b := range h.Bodies {
		events += len(b.Events)
	}
	ample := map[*history.Campaign]bool{}
	for _, c := range h.Campaigns() {
		ample[c] = c.Vendor.Ample && c.Budget > shop.Micros(events)*c.Price
	}
	for _, change := range h.Changes {
		if change.Amount <= shop.Micros(events)*change.Campaign.Price {
			ample[change.Campaign] = false
		}
	}
	return ample
}

// Balances checks the totals at the end: what was deposited into a wallet is there, was burned or was spent.
func Balances(h *history.History, final *FinalState) Result {
	v := Result{Check: "wallet = deposits - burns - spent, budget = spent + remaining"}
	for _, vendor := range h.Vendors {
		least, most := vendor.Deposit, vendor.Deposit
		for _, p := range h.Payments {
			if p.Vendor != vendor || p.Outcome == history.Refused && !p.Doubtful {
				continue
			}
			if p.Outcome == history.OK || p.Amount < 0 {
				least += p.Amount
			}
			if p.Outcome == history.OK || p.Amount > 0 {
				most += p.Amount
			}
		}
		for _, c := range vendor.Campaigns {
			r := final.Reports[c]
			spent := r.Billed()
			least, most = least-spent, most-spent
			v.Checked++
			if b, read := final.Budgets[c]; read && !c.Daily && b.Used != spent {
				v.AddViolation("campaign %s: the report says %v spent, the budget %v", c.Name, spent, b.Used)
			}
		}
		v.Checked++
		if got := final.Balances[vendor]; got < least || got > most || got < 0 {
			v.AddViolation("wallet of %s: balance %v, but deposits less burns less spent is %v to %v", vendor.ID, got, least, most)
		}
	}
	return v
}

// Digests checks that replicas are equal: at the same index of a group all nodes have the same state digest.
func Digests(h *history.History) Result {
	v := Result{Check: "equal state digests at equal index"}
	type position struct {
		group string
		index uint64
	}
	seen, names := map[position]map[string]string{}, map[string]bool{}
	for _, d := range h.Digests {
		names[d.Node] = true
		at := position{d.Group, d.Index}
		if seen[at] == nil {
			seen[at] = map[string]string{}
		}
		seen[at][d.Node+" "+d.Digest] = d.Digest
	}
	compared := 0
	for at, nodes := range seen {
		different := map[string]bool{}
		for _, d := range nodes {
			different[d] = true
		}
		if len(nodes) > 1 {
			compared++
		}
		if len(different) > 1 {
			v.AddViolation("group %s at index %d: %v", at.group, at.index, slices.Sorted(maps.Keys(nodes)))
		}
	}
	v.Checked, v.MayBeEmpty = compared, len(names) == 1
	slices.Sort(v.Violations)
	return v
}

// Findings reports the findings of the run as violations.
func Findings(h *history.History) Result {
	v := Result{Check: "processes end only when they should, nodes come back, nothing is refused"}
	v.Checked = len(h.Faults)
	for _, f := range h.Findings {
		v.AddViolation("%s", f)
	}
	return v
}
