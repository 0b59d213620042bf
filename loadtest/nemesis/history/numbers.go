package history

import "github.com/gavel-ads/gavel/loadtest/shop"

// Numbers are the numbers of a report: of a campaign, a product, a vendor or the marketplace.
type Numbers struct {
	Total         [Charges]int64 // Impressions, clicks, and items of purchases that were credited to ads.
	Charged       [Charges]int64
	Spent         [Charges]shop.Micros
	Overdelivered shop.Micros // Delivered for nothing: what budget or wallet could not pay.
	Credited      Sales       // Items of purchases that were credited to ads, less what came back.
	Bought        Sales       // All purchases that the report has, less what came back. A campaign has those credited to it.
}

// Sales are items of purchases.
type Sales struct {
	Items, Pieces int64
	Amount        shop.Micros
}

// Billed is what was billed for events of all kinds.
func (n *Numbers) Billed() (sum shop.Micros) {
	for _, spent := range n.Spent {
		sum += spent
	}
	return sum
}

// Add adds the numbers of another report.
func (n *Numbers) Add(o *Numbers) {
	for i := range n.Total {
		n.Total[i] += o.Total[i]
		n.Charged[i] += o.Charged[i]
		n.Spent[i] += o.Spent[i]
	}
	n.Overdelivered += o.Overdelivered
	n.Credited.Add(o.Credited)
	n.Bought.Add(o.Bought)
}

// Add adds other sales.
func (s *Sales) Add(o Sales) {
	s.Items += o.Items
	s.Pieces += o.Pieces
	s.Amount += o.Amount
}
