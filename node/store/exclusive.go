package store

import (
	"context"
	"fmt"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// ErrExclusiveTaken wraps ErrAlreadyExists: another exclusive campaign has a product at the same time.
var ErrExclusiveTaken = fmt.Errorf("another exclusive campaign has one of the products at this time: %w", ErrAlreadyExists)

// checkExclusive returns ErrExclusiveTaken when an exclusive campaign would have a product at the same time as another
// one, of any group. The state machine checks only the campaign's own group, so two campaigns of vendors of different
// groups that take a product at the same moment both succeed; auctions then let them compete.
func (t Tenant) checkExclusive(c *model.Campaign, bids []model.Bid) error {
	if c.Type != model.Exclusive {
		return nil
	}
	for _, g := range t.store.Groups.Groups() {
		taken, err := read(t, g, func(b shard.Queries) bool {
			for i := range bids {
				if bids[i].TargetType != model.TargetProduct {
					continue
				}
				for _, x := range b.ExclusiveOn(t.marketplace, c.Format, bids[i].Target) {
					if x.ID != c.ID && shard.Rivals(&x, c) {
						return true
					}
				}
			}
			return false
		})
		if err != nil {
			return err
		}
		if taken {
			return ErrExclusiveTaken
		}
	}
	return nil
}

// checkExclusiveChange is checkExclusive for a patch of a campaign's dates or status.
func (t Tenant) checkExclusiveChange(ctx context.Context, now *CampaignState, p *command.PatchCampaign) error {
	if now.Type != model.Exclusive || p.StartMillis == nil && p.EndMillis == nil && p.Status == nil {
		return nil
	}
	after := now.Campaign
	p.Change(&after)
	bids, _, err := t.Bids(ctx, now.ID, 0, shard.BidsMax)
	if err != nil {
		return err
	}
	return t.checkExclusive(&after, bids)
}
