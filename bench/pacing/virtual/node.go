package virtual

import (
	"fmt"
	"math"

	"github.com/gavel-ads/gavel/bench/pacing/policy"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// node is one virtual node: a market, and what it knows of its campaigns.
type node struct {
	number   int
	market   *market.Market
	balances []*market.Balances
	words    []*market.PacingState
	params   auction.Params
	stale    auction.Groups
	scratch  auction.Scratch
	results  auction.Results

	own       []int64 // Expected cost of this node's wins since its start.
	wins      []int64
	auctions  [2]int64
	changed   []int32 // Campaigns that won since the last report.
	isChanged []bool
	reported  []int64 // own, as the last pacing decision counted it.
	left      []int64
	hold      []int64
	guard     bool
	weight    int64 // The number of nodes that serve: each win is assumed to happen on every one of them.

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
	n := len(day.Campaigns)
	v := &node{
		number: number, market: market.New(day.Seed), linked: true, guard: config.Hold, weight: int64(config.Nodes),
		own: make([]int64, n), isChanged: make([]bool, n), wins: make([]int64, n), reported: make([]int64, n), left: make([]int64, n), hold: make([]int64, n),
	}
	ring := bidid.NewKeyring([]bidid.Key{{ID: 1}})
	v.params = auction.Params{Marketplace: marketplace, Node: uint16(number + 1), Epoch: 1, Signer: bidid.NewSigner(ring), Stale: &v.stale}
	v.feed(day)
	for i := range day.Campaigns {
		left := day.Campaigns[i].Budget
		if config.Unlimited {
			left = math.MaxInt64
		}
		v.balances[i].WalletBalance.Store(math.MaxInt64)
		v.setLeft(i, left)
	}
	return v
}

// feed puts the campaigns, each with a product of its own, and the products of external bids into the market.
func (n *node) feed(day *scenario.Day) {
	m := &market.Marketplace{Ordinal: marketplace, CurrencyCode: "EUR", CurrencyExponent: 2}
	m.Reserve[market.CPC], m.Reserve[market.CPM] = money.Micros(day.Reserve[0]), money.Micros(day.Reserve[1])
	n.market.PutMarketplace(m)
	for i := range day.Campaigns {
		c := campaignOf(i, &day.Campaigns[i])
		n.balances = append(n.balances, n.market.PutCampaign(c))
		n.words = append(n.words, n.market.PacingStateOf(c))
		id := productID(i)
		n.market.PutProduct(marketplace, &market.Product{ID: id, Active: true, Quality: market.QualityOne})
		n.market.PutBid(c, &market.Bid{Ordinal: uint32(i + 1), Target: id, Amount: money.Micros(day.Campaigns[i].Bid), Active: true})
	}
	for i := range externalProducts {
		n.market.PutProduct(marketplace, &market.Product{ID: externalID(i), Active: true, Quality: market.QualityOne})
	}
	n.market.Publish()
}

// campaignOf returns what the market stores of a campaign.
func campaignOf(i int, c *scenario.Campaign) *market.Campaign {
	m := &market.Campaign{
		ID: ids.Mint(int64(i), [10]byte{}, 1), Ordinal: uint32(i + 1), Group: group, Marketplace: marketplace,
		VendorID: fmt.Sprint("vendor-", c.Vendor), Charge: market.CPC, Active: true, Status: market.Approved,
		Budget: money.Micros(c.Budget), StartMillis: policy.Epoch + c.StartMillis, EndMillis: policy.Epoch + c.EndMillis,
	}
	if c.Banner {
		m.Charge = market.CPM
	}
	return m
}

func productID(i int) string  { return fmt.Sprintf("p%07d", i) }
func externalID(i int) string { return fmt.Sprintf("x%07d", i) }

// setLeft stores what the node last learned of a budget.
func (n *node) setLeft(campaign int, left int64) {
	n.left[campaign] = left
	n.publish(campaign)
}

// publish makes the money that a campaign may still commit visible to auctions: what is left, less the hold of the last
// decision, less the node's own wins since then for each of the nodes, because the others may have won as much.
func (n *node) publish(i int) {
	free := n.left[i]
	if n.guard && free < math.MaxInt64 {
		free -= n.hold[i] + n.weight*(n.own[i]-n.reported[i])
	}
	n.balances[i].BudgetLeft.Store(free)
}

// win adds the expected cost of a win.
func (n *node) win(i int, cost int64) {
	n.own[i] += cost
	n.wins[i]++
	if !n.isChanged[i] {
		n.isChanged[i] = true
		n.changed = append(n.changed, int32(i)) // Few campaigns.
	}
	if n.guard {
		n.publish(i)
	}
}

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
		for i := range n.left {
			n.setLeft(i, l.left(i))
		}
		n.behind = false
	}
	d := l.sent(now)
	if d == nil {
		return
	}
	for i, word := range d.words {
		if n.words[i].Load() != word {
			n.words[i].Store(word)
		}
		n.balances[i].ClickRate.Store(d.rates[i])
		reported := d.reported[n.number][i]
		if n.hold[i] != d.hold[i] || n.reported[i] != reported {
			n.hold[i], n.reported[i] = d.hold[i], min(reported, n.own[i])
			n.publish(i)
		}
	}
}

// kill ends the node's process: what it has not reported is lost, and its totals begin at 0 again.
func (n *node) kill(l *leader) {
	l.forget(n.number)
	clear(n.own)
	clear(n.wins)
	clear(n.reported)
	clear(n.isChanged)
	n.changed = n.changed[:0]
	n.auctions = [2]int64{}
	n.behind = true
	for i := range n.words {
		n.words[i].Store(controller.Stopped) // Until the first decision arrives.
	}
}
