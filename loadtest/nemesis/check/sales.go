package check

import (
	"fmt"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// OtherReports are the reports of a run beside the sums of its campaigns, and the sums of their rows.
type OtherReports struct {
	Daily            map[*history.Campaign]history.Numbers // The days of a campaign, summed.
	ByProduct        map[*history.Campaign]history.Numbers // The products of a campaign, summed.
	Products         map[string]history.Numbers
	Vendors          map[*history.Vendor]history.Numbers
	Marketplace      history.Numbers
	MarketplaceDaily history.Numbers // The days of the marketplace, summed.
}

// sale is a purchase of one item, and what came back of it.
type sale struct {
	purchase      *history.Event
	acked         bool
	surely, maybe int64 // How many pieces came back by acknowledged returns, and by all returns.
	returns       int   // How many returns were acknowledged.
}

// sales returns all purchases of a history. A purchase and a return count once, however many bodies report them.
func sales(h *history.History) []*sale {
	var all []*sale
	of, acked := map[*history.Event]*sale{}, map[*history.Event]bool{}
	seen := map[*history.Event]bool{}
	var returns []*history.Event
	for _, b := range h.Bodies {
		for _, e := range b.Events {
			if e.Array != history.Purchase {
				continue
			}
			acked[e] = acked[e] || b.Acked != history.Never
			if seen[e] {
				continue
			}
			seen[e] = true
			if e.ReturnOf != nil {
				returns = append(returns, e)
				continue
			}
			of[e] = &sale{purchase: e}
			all = append(all, of[e])
		}
	}
	for _, s := range all {
		s.acked = acked[s.purchase]
	}
	for _, e := range returns {
		s := of[e.ReturnOf]
		s.maybe += e.Pieces
		if acked[e] {
			s.returns++
			s.surely += e.Pieces
		}
	}
	return all
}

// left returns what the reports must at least and may at most have of a purchase. No more pieces come back than were bought.
func (s *sale) left() (least, most history.Sales) {
	bought := s.purchase.Pieces
	if s.acked {
		least = salesOf(bought - min(bought, s.maybe))
	}
	return least, salesOf(bought - min(bought, s.surely))
}

// salesOf returns the sales of one item. An item of which nothing is left is no item.
func salesOf(pieces int64) history.Sales {
	if pieces == 0 {
		return history.Sales{}
	}
	return history.Sales{Items: 1, Pieces: pieces, Amount: shop.Micros(pieces) * history.UnitPrice}
}

// Range is the least and the most that a report may have.
type Range struct{ Least, Most history.Sales }

func (r *Range) add(s *sale) {
	least, most := s.left()
	r.Least.Add(least)
	r.Most.Add(most)
}

// Has reports whether sales are in the range.
func (r Range) Has(s history.Sales) bool {
	return s.Items >= r.Least.Items && s.Items <= r.Most.Items && s.Pieces >= r.Least.Pieces && s.Pieces <= r.Most.Pieces &&
		s.Amount >= r.Least.Amount && s.Amount <= r.Most.Amount
}

func (r Range) String() string {
	if r.Least == r.Most {
		return fmt.Sprintf("%+v", r.Least)
	}
	return fmt.Sprintf("%+v to %+v", r.Least, r.Most)
}

// Credited returns what must be credited to each campaign: the purchases by users of its tokens. Such a purchase is sent after an impression
// or click on the token was acknowledged, and its user has touched nothing else.
func Credited(h *history.History) map[*history.Campaign]Range {
	all := map[*history.Campaign]Range{}
	for _, s := range sales(h) {
		if s.purchase.Token != nil {
			r := all[s.purchase.Token.Campaign]
			r.add(s)
			all[s.purchase.Token.Campaign] = r
		}
	}
	return all
}

// Sales checks that every purchase is counted once for its product, that its item is credited to one ad or to none, once, and that a
// return takes back at most what was bought, once, from both.
func Sales(h *history.History, final *FinalState) Result {
	v := Result{Check: "each purchase counted and credited once, returns taken back once"}
	bought := map[string]Range{}
	returns, more := 0, 0
	for _, s := range sales(h) {
		v.Checked++
		returns += s.returns
		if s.surely > s.purchase.Pieces {
			more++
		}
		r := bought[s.purchase.Product]
		r.add(s)
		bought[s.purchase.Product] = r
	}
	for product, n := range final.Other.Products {
		if want := bought[product]; !want.Has(n.Bought) {
			v.AddViolation("product %s: the report has %+v bought, want %v", product, n.Bought, want)
		}
	}
	credited := Credited(h)
	for _, c := range h.Campaigns() {
		if got, want := final.Reports[c].Credited, credited[c]; !want.Has(got) {
			v.AddViolation("campaign %s: the report has %+v credited, want %v", c.Name, got, want)
		}
	}
	if returns == 0 {
		v.AddViolation("no purchase was returned")
	}
	v.Note = fmt.Sprintf("%d returns, %d purchases of which more came back than was bought", returns, more)
	return v
}

// PurchaseCharges checks the campaigns that pay for purchases: a token is charged its price for the first purchase that is credited to it,
// once, and what is billed is that less what was given back. Their wallets never run out.
func PurchaseCharges(h *history.History, final *FinalState) Result {
	v := Result{Check: "each token charged for its first purchase only"}
	type paid struct{ surely, maybe map[*history.Token]bool }
	of := map[*history.Campaign]paid{}
	for _, c := range h.Campaigns() {
		if c.Charge == history.Purchase {
			of[c] = paid{map[*history.Token]bool{}, map[*history.Token]bool{}}
		}
	}
	for _, s := range sales(h) {
		if !s.purchase.Pays() {
			continue
		}
		p := of[s.purchase.Token.Campaign]
		p.maybe[s.purchase.Token] = true
		if s.acked {
			p.surely[s.purchase.Token] = true
		}
	}
	for _, c := range h.Campaigns() {
		p, pays := of[c]
		if !pays {
			continue
		}
		n := final.Reports[c].Numbers
		v.Checked += len(p.maybe)
		least, most := givenBack(h, c)
		billed := shop.Micros(n.Charged[c.Charge]) * c.Price
		switch charged := n.Charged[c.Charge]; {
		case charged < int64(len(p.surely)) || charged > int64(len(p.maybe)):
			v.AddViolation("campaign %s: %d purchases charged, want %d to %d", c.Name, charged, len(p.surely), len(p.maybe))
		case n.Spent[c.Charge] < billed-most || n.Spent[c.Charge] > billed-least:
			v.AddViolation("campaign %s: %v billed for %d purchases at %v, of which %v to %v were given back",
				c.Name, n.Spent[c.Charge], charged, c.Price, least, most)
		case chargedForFree(c, &n) != "":
			v.AddViolation("campaign %s: %s charged, which are free", c.Name, chargedForFree(c, &n))
		}
	}
	return v
}

// givenBack returns how much reversals gave back of a campaign's charges, at least and at most.
func givenBack(h *history.History, c *history.Campaign) (least, most shop.Micros) {
	for _, r := range h.Reversed {
		if r.Token.Campaign != c {
			continue
		}
		switch {
		case r.Outcome == history.OK:
			least, most = least+r.Amount, most+r.Amount
		case r.Outcome == history.Unknown || r.Doubtful:
			most += c.Price
		}
	}
	return least, most
}

// Reversals checks that each charge was given back in full, once, and that none was given back of a token without a purchase.
func Reversals(h *history.History) Result {
	v := Result{Check: "each reversal gives back one charge, once"}
	bought := map[*history.Token]bool{}
	for _, s := range sales(h) {
		if s.purchase.Pays() {
			bought[s.purchase.Token] = true
		}
	}
	given := map[*history.Token]bool{}
	for _, r := range h.Reversed {
		if r.Outcome != history.OK {
			continue
		}
		v.Checked++
		switch {
		case r.Amount != r.Token.Campaign.Price:
			v.AddViolation("campaign %s at %v: %v given back of a charge of %v", r.Token.Campaign.Name, r.Return, r.Amount, r.Token.Campaign.Price)
		case given[r.Token]:
			v.AddViolation("campaign %s at %v: DOUBLE REVERSAL of the charge of one token", r.Token.Campaign.Name, r.Return)
		case !bought[r.Token]:
			v.AddViolation("campaign %s at %v: a reversal of a charge without a purchase", r.Token.Campaign.Name, r.Return)
		}
		given[r.Token] = true
	}
	return v
}
