package market

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// Feed receives from the replicated machines what auctions read. The calls of one Raft group come from one goroutine;
// different groups may call at the same time. Nothing fed is visible to auctions before Publish.
// OWNERSHIP: arguments are borrowed for the call; the implementation copies what it keeps.
type Feed interface {
	PutMarketplace(m *model.Marketplace)
	PutCategory(marketplace uint16, c *model.Category)
	DeleteCategory(marketplace uint16, id string)
	PutProduct(marketplace uint16, p *model.Product)
	DeleteProduct(marketplace uint16, id string)
	// PutCampaign adds or replaces a campaign and returns its balances, always at the same address. REQUIRES: when its
	// target return changes (Campaign.HasBase), PutBid is called for all of its bids.
	PutCampaign(c *model.Campaign) *Balances
	// PutBid adds or replaces a bid, or removes it if it is Deleted. REQUIRES: PutCampaign was called for its campaign.
	PutBid(c *model.Campaign, b *model.Bid)
	// RecordExposure reports a counted impression or click of a campaign with frequency caps. Exposures are not part of
	// the replicated state: a Load does not report earlier ones again.
	RecordExposure(c *model.Campaign, x *Exposure)
	// PutClickRate replaces the impressions and clicks that a group has counted of a cell, decayed to the group's local day
	// of the marketplace; counts of 0 remove them. Auctions read the sums of all groups at once, without Publish.
	PutClickRate(g ids.Group, c *ClickCell, counts learn.Counts)
	// PutClickDelay replaces what a group has learned of the delay of a marketplace's clicks.
	PutClickDelay(g ids.Group, marketplace uint16, d learn.Delay)
	// PutPurchases replaces what a group has counted of the purchases of a cell; zero removes it. Base bids follow from the
	// sums of all groups.
	PutPurchases(g ids.Group, c *PurchaseCell, b learn.Bought)
	// PutReturned replaces what a campaign with a target return has paid and sold.
	PutReturned(g ids.Group, campaign uint32, r Returned)
	// PutTraffic replaces the expected traffic of a marketplace's ads of a format. The meta group calls it.
	PutTraffic(marketplace uint16, format model.AdFormat, w *pacing.Weights)
	// PutSegment replaces the users of a segment, given as keyed hashes that ascend without repeats. DeleteSegment removes
	// them.
	PutSegment(marketplace uint16, id string, users []uint64)
	DeleteSegment(marketplace uint16, id string)
	// Reset removes the campaigns and bids of a group and, with meta, also the marketplaces, the catalog and the segments.
	// It is called before a group is loaded, also after the installation of a snapshot.
	Reset(g ids.Group, meta bool)
	// Publish makes everything fed so far visible to the auctions that start after it returns.
	Publish()
}
