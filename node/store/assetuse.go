package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// AssetUses is what shows an asset, the newest first.
type AssetUses struct {
	Slots     []Slot          // With a fallback that shows it.
	Campaigns []CampaignState // With a bid that shows it. None is terminated.
	More      bool            // More slots or campaigns show it.
}

// AssetInUse is the error of the deletion of an asset that is shown. It wraps ErrWrongState.
type AssetInUse struct{ Uses AssetUses }

// Error names what shows the asset.
func (e *AssetInUse) Error() string {
	var all []string
	for i := range e.Uses.Slots {
		all = append(all, fmt.Sprintf("the fallback of slot %q", e.Uses.Slots[i].ExternalID))
	}
	for i := range e.Uses.Campaigns {
		all = append(all, fmt.Sprintf("a bid of campaign %q (%s)", e.Uses.Campaigns[i].Name, e.Uses.Campaigns[i].ID))
	}
	if e.Uses.More {
		all = append(all, "others")
	}
	return "the asset is shown by " + strings.Join(all, ", ") +
		"; it can be deleted when no slot's fallback shows it, and no bid of a campaign that is not terminated"
}

// Unwrap returns ErrWrongState.
func (*AssetInUse) Unwrap() error { return ErrWrongState }

// namedUsesMax is how many slots, and how many campaigns, an AssetInUse names. BOUND: a message that can be read.
const namedUsesMax = 3

// DeleteAsset deletes an asset that nothing shows, and returns it, so that the caller can remove its file. *AssetInUse when a
// slot or a bid shows it.
func (t Tenant) DeleteAsset(ctx context.Context, id ids.UUID, url string) (deleted Asset, err error) {
	uses, err := t.AssetUses(ctx, id, url, namedUsesMax)
	if err != nil {
		return Asset{}, err
	}
	err = assets.removeIf(ctx, t, id, func(x *Asset) error {
		deleted = *x
		if len(uses.Slots)+len(uses.Campaigns) > 0 {
			return &AssetInUse{uses}
		}
		return nil
	})
	return deleted, err
}

// AssetUses lists at most so many slots, and so many campaigns, that show an asset: slots whose fallback shows its URL, and
// campaigns of its vendor with a bid that names it or its URL. ErrNotFound for an unknown asset. It reads all slots of the
// marketplace and all banners of the vendor, as background work.
func (t Tenant) AssetUses(ctx context.Context, id ids.UUID, url string, most int) (uses AssetUses, err error) {
	x, err := t.Asset(ctx, id)
	if err != nil {
		return uses, err
	}
	var moreSlots bool
	uses.Slots, moreSlots, err = slots.list(t, Page{Limit: most}, func(s *Slot) bool {
		return slices.ContainsFunc(s.Fallback, func(f Fallback) bool { return f.URL == url })
	})
	if err != nil {
		return uses, err
	}
	uses.Campaigns, uses.More, err = t.bannersWith(ctx, x.VendorID, most, func(a *model.BannerAsset) bool {
		return a.AssetID == id.String() || a.URL == url
	})
	uses.More = uses.More || moreSlots
	return uses, err
}

// bannersWith lists a vendor's newest banner campaigns, but terminated ones, of which a bid shows one of some assets.
func (t Tenant) bannersWith(
	ctx context.Context, vendor string, most int, wanted func(*model.BannerAsset) bool,
) (found []CampaignState, more bool, err error) {
	filter := shard.CampaignFilter{VendorID: vendor, Format: new(model.Banner)}
	err = t.readInSteps(ctx, t.groupOf(vendor), func(b *longState) {
		for offset, rest := 0, true; rest && !b.stopped(); offset += campaignStep {
			var campaigns []CampaignState
			campaigns, rest = b.Campaigns(t.marketplace, &filter, offset, campaignStep)
			for i := range campaigns {
				if !b.hasBidWith(campaigns[i].Ordinal, wanted) {
					continue
				}
				if more = len(found) == most; more {
					return
				}
				found = append(found, campaigns[i])
			}
		}
	})
	return found, more, err
}

// hasBidWith reports whether a bid of a campaign shows one of some assets.
func (b *longState) hasBidWith(campaign uint32, wanted func(*model.BannerAsset) bool) bool {
	for at, rest := 0, true; rest && !b.stopped(); at += campaignStep {
		var bids []model.Bid
		bids, rest = b.Bids(campaign, at, campaignStep)
		for i := range bids {
			c := bids[i].Creative
			if c == nil {
				continue
			}
			for j := range c.Assets {
				if wanted(&c.Assets[j]) {
					return true
				}
			}
		}
	}
	return false
}

// UsesFile reports whether a record refers to a file of the blob store.
func (t Tenant) UsesFile(_ context.Context, object string) (bool, error) {
	address := beforeLastDash(object)
	return read(t, t.store.Groups.Meta(), func(b shard.Queries) bool {
		at, found := assets.lookup(b, t, keyOfName(address))
		return found && at.item.Object() == object
	})
}

// beforeLastDash is the part of an object's name that all objects of one asset or list share.
func beforeLastDash(object string) string {
	if end := strings.LastIndexByte(object, '-'); end >= 0 {
		return object[:end]
	}
	return object
}
