package campaigns

import (
	"context"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Notifying returns a context whose writes of campaigns and bids notify the webhook of a channel. The notification is
// stored by the command that makes the change.
func Notifying(ctx context.Context, channel store.Channel) context.Context {
	return store.WithNotice(ctx, channel, payload)
}

// campaignNotice is the payload of campaign:create, campaign:update and campaign:delete.
type campaignNotice struct {
	AdFormat      string `json:"ad_format"`
	CampaignID    string `json:"campaign_id"`
	CampaignType  string `json:"campaign_type"`
	MarketplaceID string `json:"marketplace_id"`
	Name          string `json:"name"` // With the change.
	VendorID      string `json:"vendor_id"`
}

// bidNotice is the payload of bid:create, bid:update and bid:delete.
type bidNotice struct {
	BidIDs        []string `json:"bid_ids"`
	CampaignID    string   `json:"campaign_id"`
	MarketplaceID string   `json:"marketplace_id"`
}

func payload(x *store.Noticed) any {
	c := x.Campaign
	if x.Bids != nil {
		return bidNotice{BidIDs: texts(x.Bids), CampaignID: c.ID.String(), MarketplaceID: x.Marketplace.String()}
	}
	return campaignNotice{
		AdFormat: Formats[c.Format], CampaignID: c.ID.String(), CampaignType: c.Type, MarketplaceID: x.Marketplace.String(),
		Name: c.Name, VendorID: c.VendorID,
	}
}

func texts(all []ids.UUID) []string {
	list := make([]string, len(all))
	for i := range all {
		list[i] = all[i].String()
	}
	return list
}
