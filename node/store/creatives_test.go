package store

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// recordingSink records what it received last.
type recordingSink struct {
	asset     model.Asset
	deletedID string
	slot      model.MediaSlot
	placement model.Placement
}

func (x *recordingSink) PutAsset(_ uint16, a *model.Asset)         { x.asset = *a }
func (x *recordingSink) DeleteAsset(_ uint16, id string)           { x.deletedID = id }
func (x *recordingSink) PutMediaSlot(_ uint16, s *model.MediaSlot) { x.slot = *s }
func (x *recordingSink) PutPlacement(_ uint16, p *model.Placement) { x.placement = *p }

// TestCreatives: records of slots, placements and assets reach the market in the form that auctions need.
func TestCreatives(t *testing.T) {
	var x recordingSink
	publish := func(kind command.RecordKind, id string, value []byte) {
		PublishCreative(&x, "https://assets.example", kind, 1, id, value)
	}
	asset := Asset{ID: ids.UUID{15: 1}, Address: "a0001-x", Status: AssetApproved}
	publish(command.RecordAsset, asset.ListPosition(), encoded(&asset))
	if want := (model.Asset{ID: asset.ID.String(), URL: "https://assets.example/assets/a0001-x", Approved: true}); x.asset != want {
		t.Errorf("%+v, want %+v", x.asset, want)
	}
	asset.Status, asset.ExternalURL = AssetRejected, "https://elsewhere.example/a.png"
	publish(command.RecordAsset, asset.ListPosition(), encoded(&asset))
	if want := (model.Asset{ID: asset.ID.String(), URL: asset.ExternalURL}); x.asset != want {
		t.Errorf("%+v, want %+v", x.asset, want)
	}
	if publish(command.RecordAsset, asset.ListPosition(), nil); x.deletedID != asset.ID.String() {
		t.Errorf("%q was deleted, want %s", x.deletedID, asset.ID)
	}

	publish(command.RecordMediaSlot, "s", encoded(&Slot{ExternalID: "top", Desktop: &Size{Width: 1 << 40, Height: 2}, Inactive: true}))
	want := model.MediaSlot{ID: "top", Dimensions: [model.Devices]model.Dimensions{model.Desktop: {Width: 1 << 31, Height: 2}}}
	if x.slot != want {
		t.Errorf("%+v, want %+v", x.slot, want)
	}
	publish(command.RecordPlacement, "p", encoded(&Placement{Item: Item{ID: ids.UUID{15: 2}}, ExternalID: "home"}))
	if want := (model.Placement{ID: ids.UUID{15: 2}.String(), ExternalID: "home", Active: true}); x.placement != want {
		t.Errorf("%+v, want %+v", x.placement, want)
	}
	publish(command.RecordUser, "u", []byte("not for auctions, so not read"))
}
