package shardtest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// Feed records what one machine feeds to the auctions of its node.
type Feed struct {
	Balances  map[ids.UUID]*market.Balances
	Current   map[string]string // Everything put and not deleted, as text, by kind and id.
	Counted   map[uint16]command.CountedReport
	Clicks    map[market.ClickCell]learn.Counts    // All click rates.
	Bought    map[market.PurchaseCell]learn.Bought // All purchases.
	Exposures []string                             // All exposures since the machine was opened, as text.
	LeftAtPut map[ids.UUID]int64                   // What was left of a campaign's budget when it was put last.
	Published int
	pending   bool
}

var _ shard.Feed = (*Feed)(nil)

// NewFeed returns an empty feed.
func NewFeed() *Feed {
	return &Feed{
		Balances: make(map[ids.UUID]*market.Balances), Current: make(map[string]string),
		Counted: make(map[uint16]command.CountedReport), Clicks: make(map[market.ClickCell]learn.Counts),
		Bought: make(map[market.PurchaseCell]learn.Bought), LeftAtPut: make(map[ids.UUID]int64),
	}
}

// Pending reports whether something was put that was not published.
func (f *Feed) Pending() bool { return f.pending }

// Lines lists the contents of Current, sorted.
func (f *Feed) Lines() (all []string) {
	for _, key := range slices.Sorted(maps.Keys(f.Current)) {
		all = append(all, key+" "+f.Current[key])
	}
	return all
}

func (f *Feed) put(key string, value any) {
	f.Current[key] = fmt.Sprintf("%+v", value)
	f.pending = true
}

func (f *Feed) drop(key string) {
	delete(f.Current, key)
	f.pending = true
}

// PutMarketplace implements market.Feed, as do the methods below.
func (f *Feed) PutMarketplace(m *model.Marketplace) {
	f.put(fmt.Sprint("marketplace ", m.Ordinal), *m)
}

// PutCategory adds or replaces a category.
func (f *Feed) PutCategory(marketplace uint16, c *model.Category) {
	f.put(fmt.Sprint("category ", marketplace, " ", c.ID), *c)
}

// DeleteCategory removes a category.
func (f *Feed) DeleteCategory(marketplace uint16, id string) {
	f.drop(fmt.Sprint("category ", marketplace, " ", id))
}

// PutProduct adds or replaces a product.
func (f *Feed) PutProduct(marketplace uint16, p *model.Product) {
	f.put(fmt.Sprint("product ", marketplace, " ", p.ID), *p)
}

// DeleteProduct removes a product.
func (f *Feed) DeleteProduct(marketplace uint16, id string) {
	f.drop(fmt.Sprint("product ", marketplace, " ", id))
}

// PutCampaign adds or replaces a campaign.
func (f *Feed) PutCampaign(c *model.Campaign) *market.Balances {
	f.put("campaign "+c.ID.String(), *c)
	if f.Balances[c.ID] == nil {
		f.Balances[c.ID] = new(market.Balances)
	}
	f.LeftAtPut[c.ID] = f.Balances[c.ID].BudgetLeft.Load()
	return f.Balances[c.ID]
}

// PutBid adds or replaces a bid.
func (f *Feed) PutBid(c *model.Campaign, b *model.Bid) {
	if f.Balances[c.ID] == nil {
		panic("a bid was put before its campaign")
	}
	bid := *b
	if bid.Creative != nil { // Otherwise the address would be printed.
		f.put("creative "+b.ID.String(), *bid.Creative)
		bid.Creative = nil
	}
	f.put("bid "+b.ID.String(), bid)
}

// RecordExposure appends an exposure to Exposures.
func (f *Feed) RecordExposure(c *model.Campaign, x *market.Exposure) {
	f.Exposures = append(f.Exposures, fmt.Sprintf("campaign %d %+v", c.Ordinal, *x))
}

// PutClickRate replaces the counts of a cell. It needs no publication.
func (f *Feed) PutClickRate(g ids.Group, c *market.ClickCell, counts learn.Counts) {
	key := fmt.Sprintf("clicks of %+v", *c)
	delete(f.Current, key)
	delete(f.Clicks, *c)
	if counts != (learn.Counts{}) {
		f.Current[key] = fmt.Sprintf("%d %+v", g, counts)
		f.Clicks[*c] = counts
	}
}

// PutClickDelay replaces the delay of a marketplace's clicks. It needs no publication.
func (f *Feed) PutClickDelay(g ids.Group, marketplace uint16, d learn.Delay) {
	f.Current[fmt.Sprint("click delay ", marketplace)] = fmt.Sprintf("%d %+v", g, d)
}

// PutPurchases replaces the purchases of a cell.
func (f *Feed) PutPurchases(g ids.Group, c *market.PurchaseCell, b learn.Bought) {
	key := fmt.Sprintf("purchases of %+v", *c)
	f.drop(key)
	delete(f.Bought, *c)
	if b != (learn.Bought{}) {
		f.put(key, fmt.Sprintf("%d %+v", g, b))
		f.Bought[*c] = b
	}
}

// PutReturned replaces what a campaign has paid and sold. It needs no publication.
func (f *Feed) PutReturned(g ids.Group, campaign uint32, r market.Returned) {
	f.Current[fmt.Sprint("returned to campaign ", campaign)] = fmt.Sprintf("%d %+v", g, r)
}

// PutTraffic replaces the expected traffic of a format. It needs no publication.
func (f *Feed) PutTraffic(marketplace uint16, format model.AdFormat, w *pacing.Weights) {
	f.Current[fmt.Sprint("traffic ", marketplace, " ", format)] = fmt.Sprint(*w)
}

// PutSegment replaces the users of a segment.
func (f *Feed) PutSegment(marketplace uint16, id string, users []uint64) {
	f.put(fmt.Sprint("segment ", marketplace, " ", id), users)
}

// DeleteSegment removes a segment.
func (f *Feed) DeleteSegment(marketplace uint16, id string) {
	f.drop(fmt.Sprint("segment ", marketplace, " ", id))
}

// PutRecord adds, replaces or removes a record.
func (f *Feed) PutRecord(kind command.RecordKind, marketplace uint16, id string, value []byte) {
	key := fmt.Sprint("record ", kind, " ", marketplace, " ", id)
	if value == nil {
		f.drop(key)
		return
	}
	f.put(key, string(value))
}

// PutPeriods replaces the budget periods of a marketplace.
func (f *Feed) PutPeriods(g ids.Group, p *command.Periods) {
	f.Current[fmt.Sprint("periods ", g, " ", p.Marketplace)] = fmt.Sprintf("%+v", *p)
}

// PutCounted replaces the newest counted report of a node.
func (f *Feed) PutCounted(_ ids.Group, r *command.CountedReport) {
	f.Counted[r.Node] = *r
}

// PutSecrets replaces the secrets.
func (f *Feed) PutSecrets(s *command.Secrets) { f.put("secrets", *s) }

// Reset removes everything, because the feed belongs to one machine.
func (f *Feed) Reset(ids.Group, bool) {
	clear(f.Current)
	clear(f.Clicks)
	clear(f.Bought)
	f.pending = true
}

// Publish makes what was put visible.
func (f *Feed) Publish() {
	f.Published++
	f.pending = false
}
