package model

// This file holds what banners and sponsored brands add to a bid, and the records that decide whether they may be
// shown.

// TargetType is the kind of thing that a bid's ad leads to. The numbers are part of stored records.
type TargetType uint8

// The target types. A listing's is always TargetProduct.
const (
	TargetProduct TargetType = iota
	TargetVendor
	TargetBrand
	TargetURL
	TargetTypes = int(TargetURL) + 1
)

var targetNames = [TargetTypes]string{"product", "vendor", "brand", "url"}

// String returns the type as the interface writes it.
func (t TargetType) String() string { return targetNames[t] }

// Device is the device of an auction or of a banner bid. The numbers are part of stored records.
type Device uint8

// The devices.
const (
	NoDevice Device = iota // A listing auction without a device, or a bid for every device.
	Desktop
	Mobile
	Devices = int(Mobile) + 1
)

// Creative says what a bid of a banner or sponsored-brand campaign shows and where (the formatProperties of the
// interface). A bid of these formats without a creative never competes.
type Creative struct {
	// Place is the external id of the banner slot, or of the placement of a sponsored brand.
	Place  string
	Device Device // Banners: NoDevice shows on every device.
	// Assets are the 1 to AssetsMax assets of a banner. An asset may be shown while it is approved and fits the slot's
	// dimensions.
	Assets []BannerAsset
	// TemplateID, Title, Content and Products belong to a sponsored brand. Content is a raw JSON object, empty for none.
	TemplateID string
	Title      string
	Content    []byte
	Products   []string // Empty: the products of the campaign.
}

// Bounds of a creative, from the interface.
const (
	AssetsMax          = 10  // BOUND: assets of one banner bid.
	CreativeProductMax = 200 // BOUND: products of one campaign or creative.
)

// BannerAsset is one picture or filled template of a banner bid.
type BannerAsset struct {
	URL         string // Absolute. Empty: the URL of the asset record.
	ContentType string
	Dimensions  Dimensions // Zero: the asset fits every slot.
	Bytes       uint64     // The size that the vendor stated; informational.
	// AssetID names the asset record whose approval decides whether the asset may be shown. Empty: approved with its
	// campaign.
	AssetID    string
	Content    []byte // The filled template, raw JSON; empty for a plain banner.
	TemplateID string
}

// Dimensions are a width and height in pixels; zero when unknown.
type Dimensions struct{ Width, Height uint32 }

// MediaSlot is what auctions need of a media slot, the management resource where banners are shown. It is fed from the
// slot's record (market.Market.PutMediaSlot).
type MediaSlot struct {
	ID         string // External id.
	Active     bool
	Dimensions [Devices]Dimensions // By device; zero: not shown on it. All zero: shown on every device, and any asset fits.
}

// Placement is what auctions need of a sponsored-brand placement. It is fed from the placement's record
// (market.Market.PutPlacement).
type Placement struct {
	ID         string // UUID as text. An auction may name it instead of the external id.
	ExternalID string
	Active     bool
}

// Asset is what auctions need of an asset. It is fed from the asset's record (market.Market.PutAsset).
type Asset struct {
	ID       string // UUID as text.
	URL      string
	Approved bool
}
