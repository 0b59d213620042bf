package market_test

import (
	"fmt"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// The tests observe a market through auctions.

var ring = bidid.NewKeyring([]bidid.Key{{ID: 1}})

// winnersOf runs a listings auction for products, hashed by the given function, and returns who won as text.
func winnersOf(v *market.View, hash func(uint64, []byte) uint64, products ...string) string {
	req := auction.Request{Seed: v.Seed(1), Auctions: []auction.Auction{{Kind: auction.Listings, Slots: 40, HasProducts: true}}}
	for _, id := range products {
		span := auction.Span{Off: uint32(len(req.Body)), Len: uint32(len(id))}
		req.Body = append(req.Body, id...)
		req.Auctions[0].Products = append(req.Auctions[0].Products, auction.ID{Hash: hash(req.Seed, []byte(id)), Span: span})
	}
	return winners(v, &req)
}

// inCategory runs a listings auction for a category.
func inCategory(v *market.View, id string) string {
	req := auction.Request{Seed: v.Seed(1), Body: []byte(id), Auctions: []auction.Auction{{Kind: auction.Listings, Slots: 40}}}
	req.Auctions[0].Category = auction.Category{
		Form: auction.OneCategory,
		IDs:  []auction.ID{{Hash: market.Hash(req.Seed, req.Body), Span: auction.Span{Len: uint32(len(id))}}},
	}
	return winners(v, &req)
}

func winners(v *market.View, req *auction.Request) string {
	var res auction.Results
	auction.Run(v, &auction.Params{Marketplace: 1, Signer: bidid.NewSigner(ring)}, req, &res, new(auction.Scratch))
	var all []string
	for _, w := range res.Results[0].Winners {
		all = append(all, fmt.Sprintf("%s@%d", w.ID, w.Price))
	}
	return fmt.Sprint(all)
}

var settings = model.Marketplace{Ordinal: 1, CurrencyExponent: 2}

func campaign(group ids.Group, ordinal uint32) *model.Campaign {
	return &model.Campaign{
		ID: ids.Mint(int64(ordinal), [10]byte{}, 1), Ordinal: ordinal, Group: group, Marketplace: 1,
		VendorID: fmt.Sprint("v", ordinal), Charge: model.CPC, Price: model.FirstPrice, Active: true, Status: model.Approved,
	}
}

func put(m *market.Market, c *model.Campaign) *model.Campaign {
	slot := m.PutCampaign(c)
	slot.BudgetLeft.Store(1 << 40)
	slot.WalletBalance.Store(1 << 40)
	return c
}

func product(id string, categories ...string) *model.Product {
	return &model.Product{ID: id, Active: true, Quality: model.QualityOne, Categories: categories}
}

func bid(ordinal uint32, target string, amount money.Micros) *model.Bid {
	return &model.Bid{Ordinal: ordinal, Target: target, Amount: amount, Active: true}
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("winners %s, want %s", got, want)
	}
}

// Nothing is visible before Publish, and an older view does not change.
// A token names its bid by group and ordinal, from which the product is found again, also when the bid is deleted or its
// ordinal is far from the others.
func TestProductOfBid(t *testing.T) {
	m := market.New(1)
	c := model.Campaign{Ordinal: 1, Group: 2, Marketplace: 1, VendorID: "v"}
	m.PutCampaign(&c)
	for i, ordinal := range []uint32{1, 2, 513, 1 << 20} {
		m.PutBid(&c, &model.Bid{Ordinal: ordinal, Target: fmt.Sprint("p", i)})
	}
	m.PutBid(&c, &model.Bid{Ordinal: 2, Target: "p1", Deleted: true})
	m.Publish()
	v := m.View()
	for i, ordinal := range []uint32{1, 2, 513, 1 << 20} {
		if got := string(v.ProductOfBid(1, 2, ordinal)); got != fmt.Sprint("p", i) {
			t.Errorf("bid %d is on %q", ordinal, got)
		}
	}
	for _, unknown := range []struct {
		marketplace uint16
		group       ids.Group
		bid         uint32
	}{{1, 2, 3}, {1, 2, 1<<32 - 1}, {1, 1, 1}, {1, 300, 1}, {2, 2, 1}} {
		if got := v.ProductOfBid(unknown.marketplace, unknown.group, unknown.bid); got != nil {
			t.Errorf("%+v is on %q", unknown, got)
		}
	}
}

func TestPublish(t *testing.T) {
	m := market.New(1)
	m.PutMarketplace(&settings)
	m.PutProduct(1, product("p"))
	c := put(m, campaign(1, 1))
	m.PutBid(c, bid(1, "p", 100_000))
	expect(t, winnersOf(m.View(), market.Hash, "p"), "[]")
	m.Publish()
	first := m.View()
	expect(t, winnersOf(first, market.Hash, "p"), "[p@100000]")

	m.PutBid(c, bid(1, "p", 200_000))
	expect(t, winnersOf(m.View(), market.Hash, "p"), "[p@100000]")
	m.Publish()
	second := m.View()
	m.DeleteProduct(1, "p")
	m.Publish()
	expect(t, winnersOf(first, market.Hash, "p"), "[p@100000]")
	expect(t, winnersOf(second, market.Hash, "p"), "[p@200000]")
	expect(t, winnersOf(m.View(), market.Hash, "p"), "[]")

	before := m.View()
	m.DeleteProduct(1, "never-seen")
	m.PutBid(c, bid(1, "p", 200_000))
	m.PutMarketplace(&settings)
	m.Publish()
	if m.View() == before {
		t.Error("new settings were not published")
	}
	if before = m.View(); before.Edition() <= second.Edition() {
		t.Errorf("edition %d after %d", before.Edition(), second.Edition())
	}
	if m.Publish(); m.View() != before {
		t.Error("a view was published without a change")
	}
}

// Feeders of different groups do not wait for each other: bids, products and categories take effect in any order.
func TestOrderOfFeedingDoesNotMatter(t *testing.T) {
	c := campaign(1, 1)
	steps := map[string]func(m *market.Market){
		"bid":      func(m *market.Market) { m.PutBid(put(m, c), bid(1, "p", 100_000)) },
		"product":  func(m *market.Market) { m.PutProduct(1, product("p", "shoes")) },
		"category": func(m *market.Market) { m.PutCategory(1, &model.Category{ID: "shoes", ParentID: "clothing"}) },
		"parent":   func(m *market.Market) { m.PutCategory(1, &model.Category{ID: "clothing"}) },
		"settings": func(m *market.Market) { m.PutMarketplace(&settings) },
	}
	for range 20 { // The iteration order of a map is random enough.
		m := market.New(1)
		var order []string
		for name, step := range steps {
			expect(t, inCategory(m.View(), "clothing"), "[]")
			order = append(order, name)
			step(m)
			m.Publish()
		}
		if got := inCategory(m.View(), "clothing"); got != "[p@100000]" {
			t.Errorf("after %q: winners %s", order, got)
		}
	}
}

// Two marketplaces may use the same ids.
func TestMarketplacesAreApart(t *testing.T) {
	m := market.New(1)
	for _, ordinal := range []uint16{1, 2} {
		m.PutMarketplace(&model.Marketplace{Ordinal: ordinal, CurrencyExponent: 2})
		c := campaign(1, uint32(ordinal))
		c.Marketplace = ordinal
		put(m, c)
		m.PutProduct(ordinal, product("p"))
		m.PutBid(c, bid(uint32(ordinal), "p", money.Micros(ordinal)*100_000))
	}
	m.DeleteProduct(2, "p")
	m.Publish()
	expect(t, winnersOf(m.View(), market.Hash, "p"), "[p@100000]")
	if m.View().Marketplace(3) != nil || m.View().Marketplace(0) != nil || m.View().Marketplace(2).Ordinal != 2 {
		t.Error("marketplaces are mixed up")
	}
}

// After the installation of a snapshot a group is loaded again: what it does not load again is removed, other groups
// stay, and Balances keep their addresses.
func TestReset(t *testing.T) {
	m := market.New(1)
	m.PutMarketplace(&settings)
	m.PutProduct(1, product("p", "c"))
	m.PutProduct(1, product("q", "c"))
	m.PutCategory(1, &model.Category{ID: "c"})
	one, two := campaign(1, 1), campaign(2, 1)
	slot := m.PutCampaign(one)
	put(m, one)
	put(m, two)
	m.PutBid(one, bid(1, "p", 100_000))
	m.PutBid(one, bid(2, "q", 110_000))
	m.PutBid(two, bid(1, "p", 90_000))
	m.Publish()
	expect(t, inCategory(m.View(), "c"), "[q@110000 p@100000]")

	m.Reset(1, false)
	m.Publish()
	expect(t, inCategory(m.View(), "c"), "[p@90000]")
	if m.PutCampaign(one) != slot {
		t.Error("the slot moved")
	}
	m.PutBid(one, bid(2, "q", 120_000))
	m.Publish()
	expect(t, inCategory(m.View(), "c"), "[q@120000 p@90000]")

	m.Reset(0, true)
	m.Publish()
	expect(t, inCategory(m.View(), "c"), "[]")
	m.PutMarketplace(&settings)
	m.PutCategory(1, &model.Category{ID: "c"})
	m.PutProduct(1, product("q", "c"))
	m.Publish()
	expect(t, inCategory(m.View(), "c"), "[q@120000]")
}

// Deleted bids, banner bids without a creative and bids of unknown campaigns do not compete.
func TestBidsThatDoNotCompete(t *testing.T) {
	m := market.New(1)
	m.PutMarketplace(&settings)
	m.PutProduct(1, product("p"))
	c := put(m, campaign(1, 1))
	deleted := bid(1, "p", 100_000)
	m.PutBid(c, deleted)
	deleted.Deleted = true
	m.PutBid(c, deleted)
	m.PutBid(c, deleted)
	banner := campaign(1, 2)
	banner.Format = model.Banner
	m.PutBid(put(m, banner), bid(2, "p", 100_000))
	m.PutBid(campaign(1, 3), bid(3, "p", 100_000))
	m.PutBid(campaign(9, 1), bid(4, "p", 100_000))
	m.Publish()
	expect(t, winnersOf(m.View(), market.Hash, "p"), "[]")
}

// Ids with equal hashes are distinguished by their texts, however bad the hash is.
func TestBadHashes(t *testing.T) {
	for name, hash := range map[string]func(uint64, []byte) uint64{
		"constant":    func(uint64, []byte) uint64 { return 0 },
		"all ones":    func(uint64, []byte) uint64 { return ^uint64(0) },
		"length only": func(_ uint64, text []byte) uint64 { return uint64(len(text)) << 30 },
		"two bits":    func(seed uint64, text []byte) uint64 { return market.Hash(seed, text) & 3 << 40 },
	} {
		t.Run(name, func(t *testing.T) {
			m := market.NewWithHash(hash)
			m.PutMarketplace(&settings)
			c := put(m, campaign(1, 1))
			m.PutProduct(1, product("p0"))
			m.PutBid(c, bid(1, "p0", 10_000))
			m.Publish()
			expect(t, winnersOf(m.View(), hash, "p1"), "[]")
			expect(t, winnersOf(m.View(), hash, "p1", "p0", "p2"), "[p0@10000]")

			ids, want := []string{"x0", "y1"}, ""
			for i := range 30 {
				id := fmt.Sprint("p", 29-i)
				m.PutProduct(1, product(id))
				m.PutBid(c, bid(uint32(30-i), id, money.Micros(30-i)*10_000))
				ids = append(ids, id, "z"+id)
				want += fmt.Sprintf(" %s@%d", id, (30-i)*10_000)
			}
			m.Publish()
			expect(t, winnersOf(m.View(), hash, ids...), "["+want[1:]+"]")
		})
	}
}
