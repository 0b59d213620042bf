package creative

import (
	"context"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

// assetUsesMax is the most slots, and the most campaigns, of a list of uses. BOUND: an answer of about 100 kB.
const assetUsesMax = 100

// AssetUses is what shows an asset, the newest first.
type AssetUses struct {
	Slots     []AssetSlot     `json:"slots" doc:"Slots with a fallback that shows its URL, at most 100."`
	Campaigns []AssetCampaign `json:"campaigns" doc:"Campaigns of its vendor, but terminated ones, with a bid that shows it, at most 100."`
	HasMore   bool            `json:"hasMore" doc:"True if more slots or campaigns show it than are listed."`
}

// AssetSlot is a slot that shows an asset.
type AssetSlot struct {
	ID         string `json:"id" format:"uuid"`
	ExternalID string `json:"externalId"`
}

// AssetCampaign is a campaign that shows an asset.
type AssetCampaign struct {
	CampaignID string `json:"campaignId" format:"uuid"`
	Name       string `json:"name"`
}

type assetUsesOutput struct{ Body AssetUses }

// uses lists what DeleteAsset would refuse to delete the asset for.
func (s *AssetService) uses(ctx context.Context, in *OneAsset) (*assetUsesOutput, error) {
	st, id := resource.Tenant(ctx), resource.ParseUUID(in.ID)
	x, err := st.Asset(ctx, id)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	found, err := st.AssetUses(ctx, id, s.urlOf(&x), assetUsesMax)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	out := &assetUsesOutput{AssetUses{
		Slots: make([]AssetSlot, len(found.Slots)), Campaigns: make([]AssetCampaign, len(found.Campaigns)), HasMore: found.More,
	}}
	for i := range found.Slots {
		out.Body.Slots[i] = AssetSlot{found.Slots[i].ID.String(), found.Slots[i].ExternalID}
	}
	for i := range found.Campaigns {
		out.Body.Campaigns[i] = AssetCampaign{found.Campaigns[i].ID.String(), found.Campaigns[i].Name}
	}
	return out, nil
}
