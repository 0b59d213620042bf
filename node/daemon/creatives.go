package daemon

import (
	"encoding/json"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
)

// putCreative tells the auctions of a record that decides what may be shown where: an asset, a slot, a placement. Slots and
// placements are never deleted; of a deleted asset only the place is told, which ends with its id.
func (f *feed) putCreative(kind command.RecordKind, marketplace uint16, id string, value []byte) {
	const timeLen = 16
	switch kind {
	case command.RecordAsset:
		if value == nil {
			f.DeleteAsset(marketplace, id[timeLen:])
			return
		}
		x := store.DecodeAsset(value)
		f.PutAsset(marketplace, &market.Asset{ID: x.ID.String(), URL: x.URL(f.assetURL), Approved: x.Status == store.AssetApproved})
	case command.RecordSlot:
		f.PutBannerSlot(marketplace, slotOf(value))
	case command.RecordPlacement:
		var x store.Placement
		decode(value, &x)
		f.PutPlacement(marketplace, &market.Placement{ID: x.ID.String(), ExternalID: x.ExternalID, Active: !x.Inactive})
	}
}

func slotOf(value []byte) *market.BannerSlot {
	var x store.Slot
	decode(value, &x)
	s := &market.BannerSlot{ID: x.ExternalID, Active: !x.Inactive}
	for device, size := range map[market.Device]*store.Size{market.Desktop: x.Desktop, market.Mobile: x.Mobile} {
		if size != nil {
			s.Dimensions[device] = market.Dimensions{Width: pixels(size.Width), Height: pixels(size.Height)}
		}
	}
	return s
}

// pixels fits a side into the number that auctions compare; what is larger fits no asset.
func pixels(n int64) uint32 { return uint32(min(n, 1<<31)) } //nolint:gosec // bounded.

func decode(value []byte, to any) {
	if err := json.Unmarshal(value, to); err != nil {
		panic("daemon: a stored record is not JSON: " + err.Error())
	}
}
