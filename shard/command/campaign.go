package command

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// PatchCampaign replaces members of a campaign. A nil member is not changed.
type PatchCampaign struct {
	Campaign    ids.UUID
	Marketplace uint16
	// Expect names the members whose values the proposer has read and based the change on. When they have other values
	// now, the command is refused as Conflict and changes nothing.
	Expect          Expectation
	Name            *string
	Active          *bool
	StartMillis     *int64
	EndMillis       *int64 // 0 removes the end.
	Budget          *money.Micros
	Period          *model.Period
	Pacing          *model.Pacing
	TargetROASMilli *uint32
	Status          *model.Status // Terminated is final.
	StatusUpdatedBy *string
	Price           *model.PriceRule
	Document        []byte
	Products        *[]string
	Segments        *model.SegmentRules // Replaces all segment rules.
	Schedule        *[]uint16           // An empty schedule removes it.
	Caps            *[]model.Cap
	Wallet          *ids.UUID // The wallet that pays from now on; past charges stay with the old one.
	ExternalID      *string   // Empty removes it.
	HoldoutPercent  *uint8
}

// These names keep the rows below short.
type (
	campaign = model.Campaign
	change   = PatchCampaign
)

// campaigns is the table of a campaign. A row made by patched or patchedBy is a member that PatchCampaign can change.
var campaigns = newTable("campaign",
	fixed("id", uuid, func(c *campaign) *ids.UUID { return &c.ID }),
	fixed("ordinal", u32[uint32](), func(c *campaign) *uint32 { return &c.Ordinal }),
	fixed("group", u16[ids.Group](), func(c *campaign) *ids.Group { return &c.Group }),
	fixed("marketplace", u16[uint16](), func(c *campaign) *uint16 { return &c.Marketplace }),
	fixed("vendor", text, func(c *campaign) *string { return &c.VendorID }),
	patched(0, "wallet", uuid,
		func(c *campaign) *ids.UUID { return &c.Wallet }, func(p *change) **ids.UUID { return &p.Wallet }),
	patched(1, "name", text,
		func(c *campaign) *string { return &c.Name }, func(p *change) **string { return &p.Name }),
	fixed("type", text, func(c *campaign) *string { return &c.Type }),
	fixed("format", enum[model.AdFormat](model.AdFormats), func(c *campaign) *model.AdFormat { return &c.Format }),
	fixed("charge type", enum[model.ChargeType](model.ChargeTypes),
		func(c *campaign) *model.ChargeType { return &c.Charge }),
	patched(2, "price rule", enum[model.PriceRule](int(model.FirstPrice)+1),
		func(c *campaign) *model.PriceRule { return &c.Price }, func(p *change) **model.PriceRule { return &p.Price }),
	patched(3, "budget", price,
		func(c *campaign) *money.Micros { return &c.Budget }, func(p *change) **money.Micros { return &p.Budget }),
	patched(4, "period", enum[model.Period](int(model.Total)+1),
		func(c *campaign) *model.Period { return &c.Period }, func(p *change) **model.Period { return &p.Period }),
	patched(5, "start", millis,
		func(c *campaign) *int64 { return &c.StartMillis }, func(p *change) **int64 { return &p.StartMillis }),
	patched(6, "active", boolean,
		func(c *campaign) *bool { return &c.Active }, func(p *change) **bool { return &p.Active }),
	patched(7, "status", enum[model.Status](int(model.Terminated)+1),
		func(c *campaign) *model.Status { return &c.Status }, func(p *change) **model.Status { return &p.Status }),
	fixed("created", millis, func(c *campaign) *int64 { return &c.CreatedMillis }),
	fixed("updated", millis, func(c *campaign) *int64 { return &c.UpdatedMillis }),

	optional(8, "auto trigger", boolean, func(c *campaign) *bool { return &c.AutoTrigger }),
	patched(9, "external id", text,
		func(c *campaign) *string { return &c.ExternalID },
		func(p *change) **string { return &p.ExternalID }).optional().patchedSince(LevelExternalIDs),
	patched(10, "end", millis,
		func(c *campaign) *int64 { return &c.EndMillis }, func(p *change) **int64 { return &p.EndMillis }).optional(),
	patched(11, "status updated by", text,
		func(c *campaign) *string { return &c.StatusUpdatedBy },
		func(p *change) **string { return &p.StatusUpdatedBy }).optional(),
	patched(12, "target roas", u32[uint32](),
		func(c *campaign) *uint32 { return &c.TargetROASMilli },
		func(p *change) **uint32 { return &p.TargetROASMilli }).optional(),
	patchedBy(13, "document", blob,
		func(c *campaign) *[]byte { return &c.Document }, changedDocument, setDocument).optional(),
	patched(14, "products", texts,
		func(c *campaign) *[]string { return &c.Products }, func(p *change) **[]string { return &p.Products }).optional(),
	patched(15, "segments", value(segmentRules), func(c *campaign) *model.SegmentRules { return &c.Segments },
		func(p *change) **model.SegmentRules { return &p.Segments }).optional(),
	patched(16, "schedule", schedule,
		func(c *campaign) *[]uint16 { return &c.Schedule }, func(p *change) **[]uint16 { return &p.Schedule }).optional(),
	patched(17, "caps", list(caps, model.RestrictionTypes),
		func(c *campaign) *[]model.Cap { return &c.Caps }, func(p *change) **[]model.Cap { return &p.Caps }).optional(),
	patched(18, "pacing", enum[model.Pacing](int(model.PacingEven)+1),
		func(c *campaign) *model.Pacing { return &c.Pacing },
		func(p *change) **model.Pacing { return &p.Pacing }).optional().since(LevelPacing),
	patched(19, "holdout percent", u8[uint8](),
		func(c *campaign) *uint8 { return &c.HoldoutPercent },
		func(p *change) **uint8 { return &p.HoldoutPercent }).optional().since(LevelHoldouts),
)

func changedDocument(p *PatchCampaign) *[]byte {
	if p.Document == nil {
		return nil
	}
	return &p.Document
}

func setDocument(p *PatchCampaign, document *[]byte) {
	if p.Document = *document; p.Document == nil {
		p.Document = []byte{}
	}
}

var (
	campaignPatches = patchesOf[PatchCampaign](campaigns)
	patchCampaigns  = newTable("patch campaign",
		fixed("campaign", uuid, func(p *change) *ids.UUID { return &p.Campaign }),
		fixed("marketplace", u16[uint16](), func(p *change) *uint16 { return &p.Marketplace }),
		changes(campaignPatches),
		optional(0, "expectation", value(expectations),
			func(p *change) *Expectation { return &p.Expect }).since(LevelVersions),
	)
)

// AppendPatchCampaign appends a PatchCampaign.
func AppendPatchCampaign(dst []byte, nowMillis int64, p *PatchCampaign) []byte {
	return appendCommand(dst, OpPatchCampaign, nowMillis, patchCampaigns, p)
}

// ReadPatchCampaign reads a PatchCampaign.
func ReadPatchCampaign(c *Command) (PatchCampaign, error) { return readCommand(c, patchCampaigns) }

// Change applies the changes to a campaign.
func (p *PatchCampaign) Change(c *model.Campaign) { campaignPatches.change(c, p) }

// AppendCampaign appends c.
func AppendCampaign(dst []byte, c *model.Campaign) []byte { return campaigns.append(dst, c) }

// Campaign reads what AppendCampaign wrote into c. REQUIRES: *c is the zero value.
func (d *Decoder) Campaign(c *model.Campaign) { campaigns.read(d, c) }

// CreateCampaign adds a campaign with its bids. Apply assigns the ordinals. A repeat with the same campaign id changes
// nothing and gets the same answer.
type CreateCampaign struct {
	Campaign model.Campaign
	Bids     []model.Bid
}

var createCampaigns = newTable("create campaign",
	fixed("campaign", value(campaigns), func(x *CreateCampaign) *model.Campaign { return &x.Campaign }),
	fixed("bids", list(bids, unbounded), func(x *CreateCampaign) *[]model.Bid { return &x.Bids }),
)

// AppendCreateCampaign appends a CreateCampaign.
func AppendCreateCampaign(dst []byte, nowMillis int64, x *CreateCampaign) []byte {
	return appendCommand(dst, OpCreateCampaign, nowMillis, createCampaigns, x)
}

// ReadCreateCampaign reads a CreateCampaign.
func ReadCreateCampaign(c *Command) (CreateCampaign, error) { return readCommand(c, createCampaigns) }
