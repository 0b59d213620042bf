package store

import (
	"context"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
)

// CampaignListPosition is a campaign's position in CampaignsAfter.
func CampaignListPosition(c *CampaignState) string { return positionOf(c.CreatedMillis, c.ID) }

// AccountID is the id of a vendor's account. It follows from the vendor's id.
func (t Tenant) AccountID(vendorID string) ids.UUID { return ids.AccountOf(t.marketplace, vendorID) }

// campaignStep is how many campaigns or bids one scan reads.
const campaignStep = 500

// CampaignsAfter lists the campaigns of all vendors that are not terminated, newest first. The cost of a page grows with the number
// of campaigns before it: every group scans them.
func (t Tenant) CampaignsAfter(_ context.Context, p Page) ([]CampaignState, bool, error) {
	var all []CampaignState
	for _, g := range t.store.Groups.Groups() {
		got, err := read(t, g, func(b shard.Queries) (out []CampaignState) {
			for offset, more := 0, true; more && len(out) <= p.Limit; offset += campaignStep {
				var step []CampaignState
				step, more = b.Campaigns(t.marketplace, &shard.CampaignFilter{}, offset, campaignStep)
				for i := range step {
					if CampaignListPosition(&step[i]) > p.After {
						out = append(out, step[i])
					}
				}
			}
			return out
		})
		if err != nil {
			return nil, false, err
		}
		all = append(all, got...)
	}
	slices.SortFunc(all, func(a, b CampaignState) int {
		return strings.Compare(CampaignListPosition(&a), CampaignListPosition(&b))
	})
	if len(all) > p.Limit {
		return all[:p.Limit], true, nil
	}
	return all, false, nil
}
