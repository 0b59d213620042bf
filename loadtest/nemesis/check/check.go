// Package check judges the history of a run against the interface: what was acknowledged has to be in the books, once, at
// the price of its auction, within budgets and wallets, at every moment somebody looked.
//
// It is written from the text of the interface alone and shares no code with the node, so that a mistake there has no
// twin here. An operation of unknown outcome may have happened at any time after it was invoked, or not at all; no check
// takes it for a failure, and none leaves it out.
package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// faultsMax is how many faults of one check are told in words. BOUND: a broken node breaks everything at once.
const faultsMax = 20

// Verdict is the outcome of one check.
type Verdict struct {
	Check   string   `json:"check"`
	Checked int      `json:"checked"` // How many things were compared.
	Faults  []string `json:"faults"`
	Count   int      `json:"violations"` // All faults, those not told included.
	Note    string   `json:"note,omitempty"`
	// Idle says that a run may have nothing to compare here, because the faults that it is about are drawn or not.
	Idle bool `json:"-"`
}

// Want adds a violation when nothing was compared: a check that cannot fail says nothing.
func (v *Verdict) Want() {
	if v.Checked == 0 && !v.Idle {
		v.Fault("there was nothing to compare")
	}
}

// Fault adds a violation in words.
func (v *Verdict) Fault(format string, a ...any) {
	if v.Count++; v.Count <= faultsMax {
		v.Faults = append(v.Faults, fmt.Sprintf(format, a...))
	}
}

// charge is everything that may charge one token: it happens once, after the first report of the token was sent and,
// when one was acknowledged, before the first acknowledgement.
type charge struct {
	token        *history.Token
	call, finish history.Instant
}

// charges finds the charges of each campaign in the reported events.
func charges(h *history.History) map[*history.Campaign][]*charge {
	byToken := map[*history.Token]*charge{}
	all := map[*history.Campaign][]*charge{}
	for _, b := range h.Bodies {
		for _, e := range b.Events {
			if e.Token == nil || e.Array != e.Token.Campaign.Charge {
				continue
			}
			c := byToken[e.Token]
			if c == nil {
				c = &charge{token: e.Token, call: b.Sent, finish: history.Never}
				byToken[e.Token] = c
				all[e.Token.Campaign] = append(all[e.Token.Campaign], c)
			}
			c.call, c.finish = min(c.call, b.Sent), min(c.finish, b.Acked)
		}
	}
	return all
}

// Books are what the node says at the end.
type Books struct {
	Reports  map[*history.Campaign]history.ReportRead
	Budgets  map[*history.Campaign]history.BudgetRead
	Balances map[*history.Vendor]shop.Micros
	Lost     []string // Acknowledged events that the node did not know when they were reported again.
	Resent   int      // How many events were asked for that way.
}

// Events is the set check: every acknowledged event is counted exactly once, and nothing that was never attempted.
func Events(h *history.History, books *Books) Verdict {
	v := Verdict{Check: "every acknowledged event once, nothing never attempted"}
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
			n, total := counts[c][array], books.Reports[c].Total[array]
			v.Checked += len(n.attempted)
			if total < int64(len(n.acked)) || total > int64(len(n.attempted)) {
				v.Fault("campaign %s: %d %s reported, %d acknowledged, %d attempted", c.Name, total, history.Names[array], len(n.acked), len(n.attempted))
			}
		}
	}
	v.Checked += books.Resent
	for _, lost := range books.Lost {
		v.Fault("LOST %s", lost)
	}
	return v
}

// Unknown is the check that doubt ends: every report of unknown outcome was repeated until it was acknowledged.
func Unknown(h *history.History) Verdict {
	v := Verdict{Check: "unknown outcomes resolved by retry", Idle: true}
	attempts := 0
	for _, b := range h.Bodies {
		attempts += b.Unknown
		if b.Unknown > 0 {
			v.Checked++
		}
		if b.Acked == history.Never {
			v.Fault("body %d of %d events, sent at %v, is still unknown after %d attempts", b.Number, len(b.Events), b.Sent, b.Attempts)
		}
	}
	for _, p := range h.Payments {
		if p.Outcome == history.Unknown {
			v.Fault("a payment of %v to %s, sent at %v, is still unknown after %d attempts", p.Amount, p.Vendor.ID, p.Invoke, p.Attempts)
		}
	}
	v.Note = fmt.Sprintf("%d attempts were unknown", attempts)
	return v
}

// Charges is the check of what was billed: a token at most once, at most its price, and all that is owed where neither
// budget nor wallet is near its end.
func Charges(h *history.History, books *Books) Verdict {
	v := Verdict{Check: "each token charged at most once, at its price"}
	of, ample := charges(h), amples(h)
	for _, c := range h.Campaigns() {
		r := books.Reports[c]
		tokens, certain := int64(len(of[c])), int64(0)
		for _, ch := range of[c] {
			if ch.finish != history.Never {
				certain++
			}
		}
		v.Checked += len(of[c])
		charged, spent := r.Charged[c.Charge], r.Spent[c.Charge]
		other := 1 - c.Charge
		switch {
		case charged > tokens:
			v.Fault("campaign %s: DOUBLE CHARGE: %d charged, %d tokens reported", c.Name, charged, tokens)
		case spent > shop.Micros(charged)*c.Price:
			v.Fault("campaign %s: %v billed for %d charges at %v", c.Name, spent, charged, c.Price)
		case r.Charged[other] != 0 || r.Spent[other] != 0:
			v.Fault("campaign %s: %d %s charged, which are free", c.Name, r.Charged[other], history.Names[other])
		case ample[c] && (charged < certain || spent != shop.Micros(charged)*c.Price):
			v.Fault("campaign %s: %d charged for %v at %v, though %d tokens were acknowledged and no money was short", c.Name, charged, spent, c.Price, certain)
		}
	}
	return v
}

// amples are the campaigns of which neither the budget nor the wallet can have cut a charge: all events of the run together
// do not cost the least budget that they ever had.
func amples(h *history.History) map[*history.Campaign]bool {
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

// Balances is the identity of the books at the end: what came into a wallet is there or was spent.
func Balances(h *history.History, books *Books) Verdict {
	v := Verdict{Check: "wallet = deposits - burns - spent, budget = spent + remaining"}
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
			r := books.Reports[c]
			spent := r.Spent[0] + r.Spent[1]
			least, most = least-spent, most-spent
			v.Checked++
			if b, read := books.Budgets[c]; read && !c.Daily && b.Used != spent {
				v.Fault("campaign %s: the report says %v spent, the budget %v", c.Name, spent, b.Used)
			}
		}
		v.Checked++
		if got := books.Balances[vendor]; got < least || got > most || got < 0 {
			v.Fault("wallet of %s: balance %v, but deposits less burns less spent is %v to %v", vendor.ID, got, least, most)
		}
	}
	return v
}

// Digests is the check that replicas agree: at the same index of a group all nodes have the same state.
func Digests(h *history.History) Verdict {
	v := Verdict{Check: "equal state digests at equal index"}
	type place struct {
		group string
		index uint64
	}
	seen, names := map[place]map[string]string{}, map[string]bool{}
	for _, d := range h.Digests {
		names[d.Node] = true
		at := place{d.Group, d.Index}
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
			v.Fault("group %s at index %d: %v", at.group, at.index, slices.Sorted(maps.Keys(nodes)))
		}
	}
	v.Checked, v.Idle = compared, len(names) == 1
	slices.Sort(v.Faults)
	return v
}

// Findings is what the run itself noticed.
func Findings(h *history.History) Verdict {
	v := Verdict{Check: "processes end only when they should, nodes come back, nothing is refused"}
	v.Checked = len(h.Faults)
	for _, f := range h.Findings {
		v.Fault("%s", f)
	}
	return v
}
