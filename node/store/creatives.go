package store

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// CreativeSink receives what auctions have to know of assets, slots and placements. The market of a node implements it.
type CreativeSink interface {
	PutAsset(marketplace uint16, a *model.Asset)
	DeleteAsset(marketplace uint16, id string)
	PutMediaSlot(marketplace uint16, s *model.MediaSlot)
	PutPlacement(marketplace uint16, p *model.Placement)
}

// PublishCreative passes a record of an asset, a slot or a placement on to the auctions of this node; other records are ignored. Slots
// and placements are never deleted. A deleted asset has a nil value, and its id is the end of the record's id. assetURL is the base
// of the URLs of assets.
func PublishCreative(to CreativeSink, assetURL string, kind command.RecordKind, marketplace uint16, id string, value []byte) {
	const timeLen = 16
	switch kind { //nolint:exhaustive // Auctions do not use the other records.
	case command.RecordAsset:
		if value == nil {
			to.DeleteAsset(marketplace, id[timeLen:])
			return
		}
		x := decoded[Asset](value)
		to.PutAsset(marketplace, &model.Asset{ID: x.ID.String(), URL: x.URL(assetURL), Approved: x.Status == AssetApproved})
	case command.RecordMediaSlot:
		to.PutMediaSlot(marketplace, bannerSlot(decoded[Slot](value)))
	case command.RecordPlacement:
		x := decoded[Placement](value)
		to.PutPlacement(marketplace, &model.Placement{ID: x.ID.String(), ExternalID: x.ExternalID, Active: !x.Inactive})
	}
}

func bannerSlot(x Slot) *model.MediaSlot {
	s := &model.MediaSlot{ID: x.ExternalID, Active: !x.Inactive}
	for device, size := range map[model.Device]*Size{model.Desktop: x.Desktop, model.Mobile: x.Mobile} {
		if size != nil {
			s.Dimensions[device] = model.Dimensions{Width: pixels(size.Width), Height: pixels(size.Height)}
		}
	}
	return s
}

// pixels converts a side to the type that auctions compare. A larger side is cut to 2^31, which no asset fits either.
func pixels(n int64) uint32 { return uint32(min(n, 1<<31)) }
