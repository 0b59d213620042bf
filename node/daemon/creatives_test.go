package daemon

import (
	"encoding/json"
	"testing"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// TestCreatives: what records say of slots, placements and assets reaches the market, and a deleted asset leaves it.
func TestCreatives(t *testing.T) {
	f := &feed{Market: market.New(1), assetURL: "https://assets.example"}
	put := func(kind command.RecordKind, id string, x any) {
		t.Helper()
		value, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		f.PutRecord(kind, 1, id, value)
	}
	asset := store.Asset{ID: ids.UUID{15: 1}, Address: "a0001-x", Status: store.AssetApproved}
	put(command.RecordAsset, asset.Place(), &asset)
	put(command.RecordSlot, "s", &store.Slot{ExternalID: "top", Desktop: &store.Size{Width: 1 << 40, Height: 2}})
	put(command.RecordPlacement, "p", &store.Placement{ID: ids.UUID{15: 2}, ExternalID: "home", Inactive: true})
	if url := asset.URL(f.assetURL); url != "https://assets.example/assets/a0001-x" {
		t.Errorf("the address is %s", url)
	}
	if s := slotOf([]byte(`{"ExternalID":"top","Desktop":{"Width":1099511627776,"Height":2},"Inactive":true}`)); s.Active ||
		s.Dimensions[market.Desktop] != (market.Dimensions{Width: 1 << 31, Height: 2}) || s.Dimensions[market.Mobile] != (market.Dimensions{}) {
		t.Errorf("%+v", s)
	}
	f.PutRecord(command.RecordAsset, 1, asset.Place(), nil)
}
