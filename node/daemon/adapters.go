package daemon

import (
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
)

// The engine and the replication do not import each other; these declarations check that their interfaces fit.
var (
	_ raftstore.StateMachine = (*shard.Machine)(nil)
	_ store.Groups           = (*cluster.Cluster)(nil)
	_ shard.Feed             = (*publisher)(nil)
)

// zones caches the time zone of each marketplace, because resolving a name reads the zone database. It is safe for
// concurrent use.
type zones struct {
	node   *node
	byName sync.Map // string to *time.Location. BOUND: one entry per zone name that a marketplace ever had.
}

func (n *node) zones() *zones { return &zones{node: n} }

func (z *zones) location(marketplace uint16) *time.Location {
	m := z.node.publisher.View().Marketplace(marketplace)
	if m == nil {
		return time.UTC
	}
	if zone, ok := z.byName.Load(m.TimeZone); ok {
		return zone.(*time.Location) //nolint:forcetypeassert // Nothing else is stored.
	}
	zone := store.Zone(m.TimeZone)
	z.byName.Store(m.TimeZone, zone)
	return zone
}

// limitsOf converts the configured quotas of marketplaces and vendors to those of the store.
func limitsOf(q *config.Quotas) store.Limits {
	return store.Limits{
		Campaigns: q.Campaigns, VendorCampaigns: q.VendorCampaigns, Bids: q.Bids, VendorBids: q.VendorBids, Products: q.Products,
		Assets: q.Assets, AssetBytes: int64(q.AssetBytes), Segments: q.Segments, Webhooks: q.Webhooks, Keys: q.Keys,
	}
}
