package virtual

import (
	"fmt"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/bench/pacing/policy"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// node is one virtual node: a market, and the totals of what it served.
type node struct {
	number   int
	market   *market.Market
	spending *market.Spending
	balances []*market.Balances // By campaign.
	products [][]string         // By campaign: those that it has offers for.
	rates    []uint32           // By campaign: the click rate that auctions read; 0: none yet.
	params   auction.Params
	stale    auction.Groups
	scratch  auction.Scratch
	results  auction.Results
	auctions [2]int64 // Of listings and banners, since the node started.

	sent    uint64 // Number of the last collection that reached the leader.
	spent   []market.Spent
	linked  bool  // It reaches the leader.
	dead    bool  // It does not run.
	behind  bool  // It missed a balance.
	contact int64 // When it was last in contact with a leader.
}

// marketplace and group are the numbers of the one marketplace and the one data group of a simulation.
const (
	marketplace = 1
	group       = 1
)

// externalProducts is how many products external bids are on.
const externalProducts = 3

func newNode(number int, day *scenario.Day, config *Config) *node {
	n := &node{number: number, linked: true}
	ring := bidid.NewKeyring([]bidid.Key{{ID: 1}})
	n.params = auction.Params{Marketplace: marketplace, Node: uint16(number + 1), Epoch: 1, Signer: bidid.NewSigner(ring), Stale: &n.stale}
	n.start(day, config)
	return n
}

// start gives the node an empty market with full budgets, as a process that just started has.
func (n *node) start(day *scenario.Day, config *Config) {
	n.market, n.balances, n.auctions, n.sent = market.New(day.Seed), n.balances[:0], [2]int64{}, 0
	n.spending = market.NewSpending(n.market)
	if config.Hold {
		n.market.SetServingNodes(uint32(config.Nodes)) // At most nodesMax.
	}
	n.feed(day)
	for i := range day.Campaigns {
		left := day.Campaigns[i].Budget
		if config.Unlimited {
			left = math.MaxInt64
		}
		n.balances[i].WalletBalance.Store(math.MaxInt64)
		n.balances[i].BudgetLeft.Store(left)
	}
}

// feed puts the campaigns, their offers with a product each, and the products of external bids into the market.
func (n *node) feed(day *scenario.Day) {
	m := &model.Marketplace{Ordinal: marketplace, CurrencyCode: "EUR", CurrencyExponent: 2}
	m.Reserve[model.CPC], m.Reserve[model.CPM] = money.Micros(day.Reserve[0]), money.Micros(day.Reserve[1])
	n.market.PutMarketplace(m)
	for i := range day.Campaigns {
		c := campaignOf(i, &day.Campaigns[i])
		n.balances = append(n.balances, n.market.PutCampaign(c))
	}
	n.products, n.rates = make([][]string, len(day.Campaigns)), make([]uint32, len(day.Campaigns))
	for i, o := range day.Offers {
		id := productID(i)
		n.products[o.Campaign] = append(n.products[o.Campaign], id)
		n.market.PutProduct(marketplace, &model.Product{ID: id, Active: true, Quality: model.QualityOne})
		n.market.PutBid(campaignOf(int(o.Campaign), &day.Campaigns[o.Campaign]), &model.Bid{
			Ordinal: uint32(i + 1), Target: id, Amount: money.Micros(o.Bid), Active: true, // Fewer offers than 2^32.
		})
	}
	for i := range externalProducts {
		n.market.PutProduct(marketplace, &model.Product{ID: externalID(i), Active: true, Quality: model.QualityOne})
	}
	n.market.Publish()
}

// campaignOf returns what the market stores of a campaign.
func campaignOf(i int, c *scenario.Campaign) *model.Campaign {
	m := &model.Campaign{
		ID: ids.Mint(int64(i), [10]byte{}, 1), Ordinal: uint32(i + 1), Group: group, Marketplace: marketplace,
		VendorID: fmt.Sprint("vendor-", c.Vendor), Charge: model.CPC, Active: true, Status: model.Approved,
		Budget: money.Micros(c.Budget), StartMillis: policy.Epoch + c.StartMillis, EndMillis: policy.Epoch + c.EndMillis,
	}
	if c.Banner {
		m.Charge = model.CPM
	}
	return m
}

func productID(i int) string  { return fmt.Sprintf("p%07d", i) }
func externalID(i int) string { return fmt.Sprintf("x%07d", i) }

// receive takes what the leader sent long enough ago.
func (n *node) receive(l *leader, now int64) {
	n.stale = auction.Groups{}
	if now-n.contact > staleAfter {
		n.stale.Add(group)
	}
	if !n.linked || n.dead {
		return
	}
	if n.behind {
		for i, b := range n.balances {
			b.BudgetLeft.Store(l.left(i))
		}
		n.behind = false
	}
	d := l.sent(now)
	if d == nil {
		return
	}
	for i, b := range n.balances {
		// A load is much cheaper than a store, and most values are those of the last second.
		if b.Pacing.Load() != d.words[i] {
			b.Pacing.Store(d.words[i])
		}
		if b.Hold.Load() != d.hold[i] {
			b.Hold.Store(d.hold[i])
		}
		if n.rates[i] != d.rates[i] {
			n.rates[i] = d.rates[i]
			n.putRate(i)
		}
	}
}

// putRate makes auctions predict a campaign's click rate for its products: as if of so many impressions that what is
// expected of other products hardly matters.
func (n *node) putRate(campaign int) {
	const impressions = 1 << 28
	counts := learn.Counts{Impressions: impressions * learn.One, Clicks: uint64(n.rates[campaign]) * learn.One / (1 << 32 / impressions)}
	if n.rates[campaign] == 0 {
		counts = learn.Counts{}
	}
	for _, id := range n.products[campaign] {
		n.market.PutClickRate(group, &market.ClickCell{
			Marketplace: marketplace, Format: model.Listing, Level: market.ClickAd, Product: id,
		}, counts)
	}
}

// report returns the totals of the campaigns that won since the last report that reached the leader.
func (n *node) report(arrives int64, reaches bool) *report {
	collected := n.spending.Collect()
	if !reaches {
		return nil
	}
	n.spent = n.spending.AppendChanged(n.spent[:0], group, n.sent)
	n.sent = collected
	return &report{at: arrives, auctions: n.auctions, entries: slices.Clone(n.spent)}
}

// kill ends the node's process: what it has not reported is lost, and its totals begin at 0 again. When it runs again
// it has the balances of its disk, and does not compete before the first decision arrives.
func (n *node) kill(s *simulation) {
	s.leader.forget(n.number)
	n.start(s.day, s.config)
	n.params.Epoch++
	n.behind = true
	for _, b := range n.balances {
		b.Pacing.Store(controller.Stopped)
	}
}
