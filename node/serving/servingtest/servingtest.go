// Package servingtest builds a serving.Core on a market that is filled directly, without replication. The tests of both
// listeners and the benchmarks of the auction path use it. Its Proposer replaces the raft groups.
package servingtest

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Ordinals and clock of every fixture.
const (
	Marketplace = 1 // The marketplace of the keys.
	Suspended   = 2 // A marketplace that is suspended, with a key of its own.
	NowMillis   = 1_790_000_000_000
)

// Spec is the size of the market.
type Spec struct {
	Bids            int  // The number of bids; each is for another product.
	BidsPerCampaign int  // 50 when 0.
	Groups          int  // The number of data groups; 1 when 0.
	Kinds           bool // Whether the market has banners, sponsored brands and travel too: see kinds.go.
}

// Node is a core with the objects it depends on.
type Node struct {
	Core     *serving.Core
	Deps     serving.Deps
	Market   *market.Market
	Keys     *auth.Table
	Keyring  *bidid.Keyring
	Proposer *Proposer
	Metrics  *metrics.Metrics

	AuctionKey, ManagementKey, SuspendedKey, ExpiredKey string
}

// New builds a node. The result depends on the spec alone.
func New(s Spec) *Node {
	if s.BidsPerCampaign == 0 {
		s.BidsPerCampaign = 50
	}
	n := &Node{
		Market: market.New(1), Keys: auth.NewTable(), Proposer: &Proposer{}, Metrics: serving.NewMetrics(),
		Keyring: bidid.NewKeyring([]bidid.Key{{ID: 1, Key: [16]byte{1, 2, 3}}}),
	}
	n.addKeys()
	n.fillMarket(s)
	secret := [32]byte{4, 5, 6}
	n.Deps = serving.Deps{
		Keys: n.Keys, View: n.Market.View, Proposer: n.Proposer, Metrics: n.Metrics, Log: slog.New(slog.DiscardHandler),
		Keyring:          func() *bidid.Keyring { return n.Keyring },
		Secret:           func() *[32]byte { return &secret },
		Topology:         ids.Topology{DataGroups: max(1, s.Groups)},
		Location:         func(uint16) *time.Location { return nil },
		CatalogPrice:     func(uint16, []byte) money.Micros { return CatalogPrice },
		ExternalCampaign: externalCampaign,
		Frequency:        n.Market,
		Node:             1, Epoch: 1, PublicURL: "http://gavel.test",
	}
	n.Core = serving.New(n.Deps)
	return n
}

// CatalogPrice is the price of every product of a fixture.
const CatalogPrice = 12_340_000

// ExternalID is the only external campaign id that a fixture knows. It names ExternalCampaign.
const ExternalID = "offsite-1"

// ExternalCampaign is the campaign that ExternalID names, in shard 7.
var ExternalCampaign = ids.UUID{14: 1, 15: 7}

func externalCampaign(_ uint16, id []byte) ids.UUID {
	if string(id) == ExternalID {
		return ExternalCampaign
	}
	return ids.UUID{}
}

// ProductID returns the id of the product that bid i targets. It has nine characters, about as many as the ids of shops.
func ProductID(i int) string { return fmt.Sprintf("p-%07d", i) }

// Amount returns the amount of bid i for a click: 1 to 500 minor units, a pseudorandom function of i.
func Amount(i int) money.Micros {
	return money.Micros(10_000 * (1 + (uint64(i)*0x9e3779b97f4a7c15)>>32%500)) // At most 500 minor units.
}

func (n *Node) addKeys() {
	entropy := rand.NewChaCha8([32]byte{7})
	add := func(kind auth.Kind, marketplace uint16, expires int64) string {
		k, err := auth.Generate(kind, entropy)
		if err != nil {
			panic(err)
		}
		record := k.Record("test", marketplace, 0, expires)
		if err = n.Keys.Put(k.ID.String(), record.Append(nil)); err != nil {
			panic(err)
		}
		return k.String()
	}
	n.AuctionKey = add(auth.Auction, Marketplace, 0)
	n.ManagementKey = add(auth.Management, Marketplace, 0)
	n.SuspendedKey = add(auth.Auction, Suspended, 0)
	n.ExpiredKey = add(auth.Auction, Marketplace, NowMillis-1)
}

func (n *Node) fillMarket(s Spec) {
	demand := model.ExternalDemand{OwnValue: "gavel"}
	n.Market.PutMarketplace(&model.Marketplace{Ordinal: Marketplace, CurrencyCode: "EUR", CurrencyExponent: 2, ExternalDemand: demand})
	n.Market.PutMarketplace(&model.Marketplace{Ordinal: Suspended, CurrencyCode: "EUR", CurrencyExponent: 2, Suspended: true, ExternalDemand: demand})
	var campaign *model.Campaign
	for i := range s.Bids {
		if i%s.BidsPerCampaign == 0 {
			campaign = n.campaign(uint32(i/s.BidsPerCampaign) + 1) // A count.
		}
		id := ProductID(i)
		n.Market.PutProduct(Marketplace, &model.Product{ID: id, Active: true, Quality: model.QualityOne, Price: CatalogPrice})
		n.Market.PutBid(campaign, &model.Bid{
			ID: ids.Mint(NowMillis, [10]byte{1}, 0), Ordinal: uint32(i) + 1, Target: id, Active: true, // A count.
			Amount:   Amount(i),
			Triggers: []model.Trigger{{Kind: model.TriggerProduct, Value: id}, {Kind: model.TriggerCategories, Value: id}},
		})
	}
	if s.Kinds {
		n.fillKinds()
	}
	n.Market.Publish()
}

// campaign adds a campaign without a limit of budget and wallet.
func (n *Node) campaign(ordinal uint32) *model.Campaign {
	c := n.campaignValue(ordinal)
	n.put(c)
	return c
}

func (n *Node) put(c *model.Campaign) {
	slot := n.Market.PutCampaign(c)
	slot.BudgetLeft.Store(math.MaxInt64)
	slot.WalletBalance.Store(math.MaxInt64)
}

func (n *Node) campaignValue(ordinal uint32) *model.Campaign {
	return &model.Campaign{
		ID:      ids.Mint(NowMillis, [10]byte{2, 3, byte(ordinal >> 16), byte(ordinal >> 8), byte(ordinal)}, ids.Shard(ordinal)), // Any shard.
		Ordinal: ordinal, Group: 1, Marketplace: Marketplace, VendorID: fmt.Sprintf("vendor-%d", ordinal),
		Charge: model.CPC, Active: true, Status: model.Approved,
	}
}
