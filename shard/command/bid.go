package command

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// PatchBid changes members of a bid that is not deleted. A nil member is not changed.
type PatchBid struct {
	Campaign    ids.UUID
	Marketplace uint16
	Bid         ids.UUID
	Amount      *money.Micros
	Active      *bool
	Location    *string
	Triggers    *[]model.Trigger
	Delete      bool
}

// bids is the table of a bid. A row made by patched or patchedBy is a member that PatchBid can change.
var bids = newTable("bid",
	fixed("id", uuid, func(b *model.Bid) *ids.UUID { return &b.ID }),
	fixed("ordinal", u32[uint32](), func(b *model.Bid) *uint32 { return &b.Ordinal }),
	fixed("target", text, func(b *model.Bid) *string { return &b.Target }),
	fixed("created", millis, func(b *model.Bid) *int64 { return &b.CreatedMillis }),
	fixed("updated", millis, func(b *model.Bid) *int64 { return &b.UpdatedMillis }),
	patched(0, "amount", price,
		func(b *model.Bid) *money.Micros { return &b.Amount }, func(p *PatchBid) **money.Micros { return &p.Amount }),
	patched(1, "active", boolean,
		func(b *model.Bid) *bool { return &b.Active }, func(p *PatchBid) **bool { return &p.Active }).optional(),
	patched(2, "location", text,
		func(b *model.Bid) *string { return &b.Location }, func(p *PatchBid) **string { return &p.Location }).optional(),
	patched(3, "triggers", list(triggers, unbounded),
		func(b *model.Bid) *[]model.Trigger { return &b.Triggers },
		func(p *PatchBid) **[]model.Trigger { return &p.Triggers }).optional(),
	patchedBy(4, "deleted", boolean, func(b *model.Bid) *bool { return &b.Deleted }, deletes, setDelete).optional(),
	optional(5, "target type", enum[model.TargetType](model.TargetTypes),
		func(b *model.Bid) *model.TargetType { return &b.TargetType }),
	optional(6, "creative", pointer(creatives), func(b *model.Bid) **model.Creative { return &b.Creative }),
)

// deletes returns a pointer to true for a patch that deletes its bid. A deleted bid does not come back.
func deletes(p *PatchBid) *bool {
	if !p.Delete {
		return nil
	}
	return &p.Delete
}

func setDelete(p *PatchBid, deleted *bool) { p.Delete = *deleted }

var triggers = newTable("trigger",
	fixed("kind", enum[model.TriggerKind](model.TriggerKinds),
		func(t *model.Trigger) *model.TriggerKind { return &t.Kind }),
	fixed("value", text, func(t *model.Trigger) *string { return &t.Value }),
	optional(0, "words", texts, func(t *model.Trigger) *[]string { return &t.Words }),
)

var creatives = newTable("creative",
	fixed("place", text, func(c *model.Creative) *string { return &c.Place }),
	fixed("device", enum[model.Device](model.Devices), func(c *model.Creative) *model.Device { return &c.Device }),
	optional(0, "assets", list(bannerAssets, model.AssetsMax),
		func(c *model.Creative) *[]model.BannerAsset { return &c.Assets }),
	optional(1, "template", text, func(c *model.Creative) *string { return &c.TemplateID }),
	optional(2, "title", text, func(c *model.Creative) *string { return &c.Title }),
	optional(3, "content", blob, func(c *model.Creative) *[]byte { return &c.Content }),
	optional(4, "products", texts, func(c *model.Creative) *[]string { return &c.Products }),
).checked(func(c *model.Creative) bool { return len(c.Products) <= model.CreativeProductMax })

var bannerAssets = newTable("banner asset",
	fixed("url", text, func(a *model.BannerAsset) *string { return &a.URL }),
	fixed("content type", text, func(a *model.BannerAsset) *string { return &a.ContentType }),
	fixed("width", u32[uint32](), func(a *model.BannerAsset) *uint32 { return &a.Dimensions.Width }),
	fixed("height", u32[uint32](), func(a *model.BannerAsset) *uint32 { return &a.Dimensions.Height }),
	fixed("bytes", size, func(a *model.BannerAsset) *uint64 { return &a.Bytes }),
	optional(0, "asset", text, func(a *model.BannerAsset) *string { return &a.AssetID }),
	optional(1, "content", blob, func(a *model.BannerAsset) *[]byte { return &a.Content }),
	optional(2, "template", text, func(a *model.BannerAsset) *string { return &a.TemplateID }),
)

// AppendBid appends b.
func AppendBid(dst []byte, b *model.Bid) []byte { return bids.append(dst, b) }

// Bid reads what AppendBid wrote into b. REQUIRES: *b is the zero value.
func (d *Decoder) Bid(b *model.Bid) { bids.read(d, b) }

var (
	bidPatches = patchesOf[PatchBid](bids)
	patchBids  = newTable("patch bid",
		fixed("campaign", uuid, func(p *PatchBid) *ids.UUID { return &p.Campaign }),
		fixed("marketplace", u16[uint16](), func(p *PatchBid) *uint16 { return &p.Marketplace }),
		fixed("bid", uuid, func(p *PatchBid) *ids.UUID { return &p.Bid }),
		changes(bidPatches),
	).checked(func(p *PatchBid) bool { return !p.ChangesNothing() })
)

// AppendPatchBid appends a PatchBid. REQUIRES: it changes something.
func AppendPatchBid(dst []byte, nowMillis int64, p *PatchBid) []byte {
	return appendCommand(dst, OpPatchBid, nowMillis, patchBids, p)
}

// ReadPatchBid reads a PatchBid. It fails when the patch changes nothing.
func ReadPatchBid(c *Command) (PatchBid, error) { return readCommand(c, patchBids) }

// ChangesNothing reports whether the patch names no member, so that it is no command.
func (p *PatchBid) ChangesNothing() bool { return bidPatches.of(p) == 0 }

// Change applies the changes to a bid.
func (p *PatchBid) Change(b *model.Bid) { bidPatches.change(b, p) }

// PutBids adds bids to a campaign or replaces amount, state, triggers and location of existing bids, all or nothing.
type PutBids struct {
	Campaign    ids.UUID
	Marketplace uint16
	Bids        []model.Bid
}

var putBids = newTable("put bids",
	fixed("campaign", uuid, func(p *PutBids) *ids.UUID { return &p.Campaign }),
	fixed("marketplace", u16[uint16](), func(p *PutBids) *uint16 { return &p.Marketplace }),
	fixed("bids", list(bids, unbounded), func(p *PutBids) *[]model.Bid { return &p.Bids }),
)

// AppendPutBids appends a PutBids.
func AppendPutBids(dst []byte, nowMillis int64, p *PutBids) []byte {
	return appendCommand(dst, OpPutBids, nowMillis, putBids, p)
}

// ReadPutBids reads a PutBids.
func ReadPutBids(c *Command) (PutBids, error) { return readCommand(c, putBids) }
