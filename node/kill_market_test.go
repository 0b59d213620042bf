package main_test

import (
	"fmt"
	"testing"

	"github.com/gavel-ads/gavel/loadtest/shop"
	"github.com/gavel-ads/gavel/node/nodetest"
)

// seller is a vendor with one wallet.
type seller struct {
	id        string
	deposit   shop.Micros
	campaigns []*campaign
}

// campaign is what the check knows of one campaign: its terms from its creation, its counts from the history.
type campaign struct {
	id, name string
	seller   *seller
	products []string
	// price is what one charged event costs. With first price it is the bid, so the spent amount follows exactly from
	// the history; with second price only the upper bound is known.
	price  shop.Micros
	exact  bool
	charge kind        // The kind of event that is charged: clicks of a CPC campaign, impressions of a CPM one.
	budget shop.Micros // 0: no budget.

	// From the history; its lock guards them.
	events  [kinds]int64 // Acknowledged events, each once.
	charges int64        // Tokens with at least one acknowledged event of the charged kind.
	ranOut  bool         // An audit found budget or wallet used up.
}

// killMarket is the market of the crash test.
type killMarket struct {
	sellers  []*seller
	byID     map[string]*campaign
	products []string
}

const plenty = 1_000_000_00 // In minor units; no run spends that much.

// newKillMarket creates a market in which every result of a charge occurs: full price, limited by the budget, limited
// by a wallet that several campaigns share, and 0. Budgets are used up early, later, and in long runs only.
func newKillMarket(t testing.TB, node *nodetest.Node) *killMarket {
	t.Helper()
	s := &killMarket{byID: map[string]*campaign{}}
	cpc := func(name string, price, budget int64) *campaign {
		return &campaign{name: name, price: minor(price), exact: true, charge: click, budget: minor(budget)}
	}
	cpm := func(name string, perThousand, budget int64) *campaign {
		return &campaign{name: name, price: minor(perThousand) / 1_000, exact: true, charge: impression, budget: minor(budget)}
	}
	// Budgets are not multiples of prices, so that the last charge is clipped.
	s.add("rich", plenty, cpc("dear", 250, 0), cpc("cheap", 17, 0), cpc("ample", 99, plenty/2))
	s.add("soon", plenty, cpc("tiny", 100, 2_550), cpc("small", 37, 4_000))
	s.add("later", plenty, cpc("middle", 41, 30_000), cpc("large", 23, 150_000))
	s.add("shared-wallet", 9_999, cpc("left", 70, 0), cpc("right", 31, 7_000))
	s.add("big-shared-wallet", 60_001, cpc("upper", 53, 0), cpc("lower", 29, 0))
	s.add("per-view", plenty, cpm("views", 4_321, 0), cpm("few-views", 9_999, 300))
	// Two sellers bid on the same products; the lower bid sets the price of the higher one.
	high, low := cpc("high", 80, 0), cpc("low", 60, 0)
	high.exact, low.exact = false, false
	s.add("rival-high", plenty, high)
	s.add("rival-low", plenty, low)
	low.products = high.products
	s.create(t, shop.New(node.ManageURL, node.Keys.ManagementKey))
	return s
}

func minor(units int64) shop.Micros { return shop.Micros(units) * shop.MinorUnit }

// add adds a seller with campaigns of four products each.
func (s *killMarket) add(id string, depositMinor int64, campaigns ...*campaign) {
	seller := &seller{id: id, deposit: minor(depositMinor), campaigns: campaigns}
	for _, c := range campaigns {
		c.seller = seller
		for i := range 4 {
			c.products = append(c.products, fmt.Sprintf("%s-%d", c.name, i))
		}
	}
	s.sellers = append(s.sellers, seller)
}

func (s *killMarket) create(t testing.TB, operator *shop.Client) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var vendors []shop.Vendor
	owners := map[string][]string{}
	for _, v := range s.sellers {
		vendors = append(vendors, shop.Vendor{ID: v.id, Name: v.id})
		for _, c := range v.campaigns {
			for _, p := range c.products {
				owners[p] = append(owners[p], v.id)
			}
		}
	}
	must(operator.PutVendors(t.Context(), vendors))
	var products []shop.Product
	for _, v := range s.sellers {
		for _, c := range v.campaigns {
			for _, p := range c.products {
				if owners[p][0] == v.id {
					products = append(products, shop.Product{ID: p, Name: p, Vendors: owners[p], Categories: []string{}, Price: "9.99"})
					s.products = append(s.products, p)
				}
			}
		}
	}
	must(operator.PutProducts(t.Context(), products))
	for _, v := range s.sellers {
		must(operator.Deposit(t.Context(), v.id, int64(v.deposit/shop.MinorUnit), "deposit-"+v.id))
		for _, c := range v.campaigns {
			created, err := operator.CreateCampaign(t.Context(), c.terms(), "campaign-"+c.name)
			must(err)
			c.id = created.ID
			s.byID[c.id] = c
		}
	}
}

// terms returns the request that creates a campaign.
func (c *campaign) terms() shop.NewCampaign {
	n := shop.NewCampaign{
		Vendor: c.seller.id, Name: c.name, ChargeType: "CPC", PriceRule: "first", BudgetMinor: int64(c.budget / shop.MinorUnit),
	}
	amount := int64(c.price / shop.MinorUnit)
	if c.charge == impression {
		n.ChargeType, amount = "CPM", int64(c.price*1_000/shop.MinorUnit)
	}
	if !c.exact {
		n.PriceRule = "second"
	}
	for _, p := range c.products {
		n.Bids = append(n.Bids, shop.NewBid{Product: p, AmountMinor: amount})
	}
	return n
}

func (s *killMarket) campaigns() []*campaign {
	var all []*campaign
	for _, v := range s.sellers {
		all = append(all, v.campaigns...)
	}
	return all
}

func (s *killMarket) anyRanOut() bool {
	for _, c := range s.campaigns() {
		if c.ranOut {
			return true
		}
	}
	return false
}
