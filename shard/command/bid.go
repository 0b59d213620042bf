package command

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
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
	Triggers    *[]market.Trigger
	Delete      bool
}

// bids is the table of a bid. A row made by patched or patchedBy is a member that PatchBid can change.
var bids = newTable("bid",
	fixed("id", uuid, func(b *market.Bid) *ids.UUID { return &b.ID }),
	fixed("ordinal", u32[uint32](), func(b *market.Bid) *uint32 { return &b.Ordinal }),
	fixed("target", text, func(b *market.Bid) *string { return &b.Target }),
	fixed("created", millis, func(b *market.Bid) *int64 { return &b.CreatedMillis }),
	fixed("updated", millis, func(b *market.Bid) *int64 { return &b.UpdatedMillis }),
	patched(0, "amount", price,
		func(b *market.Bid) *money.Micros { return &b.Amount }, func(p *PatchBid) **money.Micros { return &p.Amount }),
	patched(1, "active", boolean,
		func(b *market.Bid) *bool { return &b.Active }, func(p *PatchBid) **bool { return &p.Active }).optional(),
	patched(2, "location", text,
		func(b *market.Bid) *string { return &b.Location }, func(p *PatchBid) **string { return &p.Location }).optional(),
	patched(3, "triggers", list(triggers, unbounded),
		func(b *market.Bid) *[]market.Trigger { return &b.Triggers },
		func(p *PatchBid) **[]market.Trigger { return &p.Triggers }).optional(),
	patchedBy(4, "deleted", boolean, func(b *market.Bid) *bool { return &b.Deleted }, deletes, setDelete).optional(),
	optional(5, "target type", enum[market.TargetType](market.TargetTypes),
		func(b *market.Bid) *market.TargetType { return &b.TargetType }),
	optional(6, "creative", pointer(creatives), func(b *market.Bid) **market.Creative { return &b.Creative }),
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
	fixed("kind", enum[market.TriggerKind](market.TriggerKinds),
		func(t *market.Trigger) *market.TriggerKind { return &t.Kind }),
	fixed("value", text, func(t *market.Trigger) *string { return &t.Value }),
	optional(0, "words", texts, func(t *market.Trigger) *[]string { return &t.Words }),
)

var creatives = newTable("creative",
	fixed("place", text, func(c *market.Creative) *string { return &c.Place }),
	fixed("device", enum[market.Device](market.Devices), func(c *market.Creative) *market.Device { return &c.Device }),
	optional(0, "assets", list(bannerAssets, market.AssetsMax),
		func(c *market.Creative) *[]market.BannerAsset { return &c.Assets }),
	optional(1, "template", text, func(c *market.Creative) *string { return &c.TemplateID }),
	optional(2, "title", text, func(c *market.Creative) *string { return &c.Title }),
	optional(3, "content", blob, func(c *market.Creative) *[]byte { return &c.Content }),
	optional(4, "products", texts, func(c *market.Creative) *[]string { return &c.Products }),
).checked(func(c *market.Creative) bool { return len(c.Products) <= market.CreativeProductMax })

var bannerAssets = newTable("banner asset",
	fixed("url", text, func(a *market.BannerAsset) *string { return &a.URL }),
	fixed("content type", text, func(a *market.BannerAsset) *string { return &a.ContentType }),
	fixed("width", u32[uint32](), func(a *market.BannerAsset) *uint32 { return &a.Dimensions.Width }),
	fixed("height", u32[uint32](), func(a *market.BannerAsset) *uint32 { return &a.Dimensions.Height }),
	fixed("bytes", size, func(a *market.BannerAsset) *uint64 { return &a.Bytes }),
	optional(0, "asset", text, func(a *market.BannerAsset) *string { return &a.AssetID }),
	optional(1, "content", blob, func(a *market.BannerAsset) *[]byte { return &a.Content }),
	optional(2, "template", text, func(a *market.BannerAsset) *string { return &a.TemplateID }),
)

// AppendBid appends b.
func AppendBid(dst []byte, b *market.Bid) []byte { return bids.append(dst, b) }

// Bid reads what AppendBid wrote into b. REQUIRES: *b is the zero value.
func (d *Decoder) Bid(b *market.Bid) { bids.read(d, b) }

var (
	bidPatches = patchesOf[PatchBid](bids)
	patchBids  = newTable("patch bid",
		fixed("campaign", uuid, func(p *PatchBid) *ids.UUID { return &p.Campaign }),
		fixed("marketplace", u16[uint16](), func(p *PatchBid) *uint16 { return &p.Marketplace }),
		fixed("bid", uuid, func(p *PatchBid) *ids.UUID { return &p.Bid }),
		changes(bidPatches),
	).checked(func(p *PatchBid) bool { return bidPatches.of(p) != 0 })
)

// AppendPatchBid appends a PatchBid. REQUIRES: it changes something.
func AppendPatchBid(dst []byte, nowMillis int64, p *PatchBid) []byte {
	return appendCommand(dst, OpPatchBid, nowMillis, patchBids, p)
}

// ReadPatchBid reads a PatchBid. It fails when the patch changes nothing.
func ReadPatchBid(c *Command) (PatchBid, error) { return readCommand(c, patchBids) }

// Change applies the changes to a bid.
func (p *PatchBid) Change(b *market.Bid) { bidPatches.change(b, p) }

// PutBids adds bids to a campaign or replaces amount, state, triggers and location of existing bids, all or nothing.
type PutBids struct {
	Campaign    ids.UUID
	Marketplace uint16
	Bids        []market.Bid
}

var putBids = newTable("put bids",
	fixed("campaign", uuid, func(p *PutBids) *ids.UUID { return &p.Campaign }),
	fixed("marketplace", u16[uint16](), func(p *PutBids) *uint16 { return &p.Marketplace }),
	fixed("bids", list(bids, unbounded), func(p *PutBids) *[]market.Bid { return &p.Bids }),
)

// AppendPutBids appends a PutBids.
func AppendPutBids(dst []byte, nowMillis int64, p *PutBids) []byte {
	return appendCommand(dst, OpPutBids, nowMillis, putBids, p)
}

// ReadPutBids reads a PutBids.
func ReadPutBids(c *Command) (PutBids, error) { return readCommand(c, putBids) }
