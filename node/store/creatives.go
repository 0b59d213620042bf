package store

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
)

// Creatives is who is told what may be shown where: the market of a node.
type Creatives interface {
	PutAsset(marketplace uint16, a *market.Asset)
	DeleteAsset(marketplace uint16, id string)
	PutBannerSlot(marketplace uint16, s *market.BannerSlot)
	PutPlacement(marketplace uint16, p *market.Placement)
}

// TellCreative tells the auctions of a record that decides what may be shown where: an asset, a slot, a placement; other
// records are none of their business. Slots and placements are never deleted; of a deleted asset, whose value is nil, only
// the place is told, which ends with its id. assetURL is the base of the addresses of assets.
func TellCreative(to Creatives, assetURL string, kind command.RecordKind, marketplace uint16, id string, value []byte) {
	const timeLen = 16
	switch kind { //nolint:exhaustive // The other records are none of an auction's business.
	case command.RecordAsset:
		if value == nil {
			to.DeleteAsset(marketplace, id[timeLen:])
			return
		}
		x := decoded[Asset](value)
		to.PutAsset(marketplace, &market.Asset{ID: x.ID.String(), URL: x.URL(assetURL), Approved: x.Status == AssetApproved})
	case command.RecordSlot:
		to.PutBannerSlot(marketplace, bannerSlot(decoded[Slot](value)))
	case command.RecordPlacement:
		x := decoded[Placement](value)
		to.PutPlacement(marketplace, &market.Placement{ID: x.ID.String(), ExternalID: x.ExternalID, Active: !x.Inactive})
	}
}

func bannerSlot(x Slot) *market.BannerSlot {
	s := &market.BannerSlot{ID: x.ExternalID, Active: !x.Inactive}
	for device, size := range map[market.Device]*Size{market.Desktop: x.Desktop, market.Mobile: x.Mobile} {
		if size != nil {
			s.Dimensions[device] = market.Dimensions{Width: pixels(size.Width), Height: pixels(size.Height)}
		}
	}
	return s
}

// pixels fits a side into the number that auctions compare; what is larger fits no asset.
func pixels(n int64) uint32 { return uint32(min(n, 1<<31)) } //nolint:gosec // bounded.
