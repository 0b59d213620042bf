package store

import (
	"context"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// DeleteAsset deletes an asset that nothing shows, and returns it, so that the caller can remove its file. ErrWrongState when a
// slot or a bid shows it.
func (t Tenant) DeleteAsset(ctx context.Context, id ids.UUID, url string) (deleted Asset, err error) {
	used, err := t.addressInUse(url)
	if err == nil && !used {
		used, err = t.bidInUse(ctx, id, url)
	}
	if err != nil {
		return Asset{}, err
	}
	err = assets.removeIf(ctx, t, id, func(x *Asset) error {
		deleted = *x
		if used {
			return ErrWrongState
		}
		return nil
	})
	return deleted, err
}

// addressInUse reports whether a slot's fallback shows a URL.
func (t Tenant) addressInUse(url string) (bool, error) {
	all, _, err := slots.list(t, Page{Limit: 1}, func(s *Slot) bool {
		return slices.ContainsFunc(s.Fallback, func(f Fallback) bool { return f.URL == url })
	})
	return len(all) > 0, err
}

// bidInUse reports whether a bid of the asset's vendor shows it, in a campaign that is not terminated.
func (t Tenant) bidInUse(ctx context.Context, id ids.UUID, url string) (bool, error) {
	x, err := t.Asset(ctx, id)
	if err != nil {
		return false, err
	}
	shows := func(b *model.Bid) bool {
		return b.Creative != nil && slices.ContainsFunc(b.Creative.Assets, func(a model.BannerAsset) bool {
			return a.AssetID == id.String() || a.URL == url
		})
	}
	return read(t, t.groupOf(x.VendorID), func(b shard.Queries) bool {
		for offset, more := 0, true; more; offset += campaignStep {
			var campaigns []CampaignState
			campaigns, more = b.Campaigns(t.marketplace, &shard.CampaignFilter{VendorID: x.VendorID}, offset, campaignStep)
			for i := range campaigns {
				for at, rest := 0, true; rest; at += campaignStep {
					var bids []model.Bid
					bids, rest = b.Bids(campaigns[i].Ordinal, at, campaignStep)
					if slices.ContainsFunc(bids, func(bid model.Bid) bool { return shows(&bid) }) {
						return true
					}
				}
			}
		}
		return false
	})
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
