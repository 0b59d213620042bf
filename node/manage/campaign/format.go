package campaign

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// FormatProperties is the content of a bid of a banner or sponsored-brand campaign, and where it is shown. It never changes: another
// creative is another bid.
type FormatProperties struct {
	AdFormat       string           `json:"adFormat" enum:"banner,sponsored_brand" doc:"The adFormat of the campaign."`
	SlotID         string           `json:"slotId" minLength:"1" maxLength:"255" doc:"External id of the slot; for a sponsored brand the externalPlacementId."`
	DeviceType     string           `json:"deviceType,omitempty" enum:"desktop,mobile" doc:"Banners. Absent: both."`
	BannerAssets   []BannerAsset    `json:"bannerAssets,omitempty" minItems:"1" maxItems:"10" doc:"Banners, required there."`
	JSONTemplateID string           `json:"jsonTemplateId,omitempty" format:"uuid" doc:"Sponsored brands, required there: the template of the placement."`
	Content        *resource.Object `json:"content,omitempty" doc:"Sponsored brands, required there: the filled template, at most 16 KiB."`
	Title          string           `json:"title,omitempty" maxLength:"255" doc:"Sponsored brands."`
	ProductIDs     []string         `json:"productIds,omitempty" maxItems:"200" minLength:"1" maxLength:"255" doc:"Sponsored brands. Absent: those of the campaign."`
}

// BannerAsset is one image or filled template of a banner.
type BannerAsset struct {
	URL            string           `json:"url,omitempty" format:"uri" maxLength:"2083" doc:"http or https. Required without assetId and content; absent beside content: an address of the node, which serves the content as a JSON file."`
	ContentType    string           `json:"contentType,omitempty" maxLength:"255"`
	Dimensions     *Dimensions      `json:"dimensions,omitempty" doc:"The asset is shown in slots of this size. Absent: in all slots."`
	Size           *int64           `json:"size,omitempty" minimum:"0" doc:"Bytes."`
	AssetID        string           `json:"assetId,omitempty" format:"uuid" doc:"An asset of the vendor; it is shown while it is approved. Absent: it is approved together with the campaign."`
	Content        *resource.Object `json:"content,omitempty" doc:"The filled template, at most 16 KiB."`
	JSONTemplateID string           `json:"jsonTemplateId,omitempty" format:"uuid" doc:"Comes with content."`
}

// Dimensions are a width and a height in pixels.
type Dimensions struct {
	Width  int64 `json:"width" minimum:"1" maximum:"2147483647"`
	Height int64 `json:"height" minimum:"1" maximum:"2147483647"`
}

const (
	contentMax  = 16 << 10 // BOUND: bytes of one filled template, which is part of the answer of every auction that it wins.
	targetIDMax = 255      // BOUND: characters. It is the interface's; only URLs may be longer.
)

// targets are the types of targets that bids of a format may have.
var targets = map[model.AdFormat][]model.TargetType{
	model.Listing:        {model.TargetProduct},
	model.Banner:         {model.TargetProduct, model.TargetVendor, model.TargetBrand, model.TargetURL},
	model.SponsoredBrand: {model.TargetBrand, model.TargetProduct, model.TargetURL},
}

// violations collects violations below one location.
type violations struct {
	at    []any
	found []resource.Violation
}

func (f *violations) add(kind, msg string, loc ...any) {
	f.found = append(f.found, resource.At(kind, msg, append(slices.Clip(f.at), loc...)...))
}

// target checks the target of a bid.
func (f *violations) target(format model.AdFormat, t *Target) model.TargetType {
	kind := campaigns.Number[model.TargetType](targetWords, t.Type)
	switch {
	case !slices.Contains(targets[format], kind):
		f.add("value_error", "a campaign of this format cannot have this type of target", "target", "type")
	case kind == model.TargetURL && !isWeb(t.ID):
		f.add("url_parsing", "must be an absolute http or https URL", "target", "id")
	case kind != model.TargetURL && utf8.RuneCountInString(t.ID) > targetIDMax:
		f.add("value_error", "its id must have at most 255 characters, unless type is url", "target")
	}
	return kind
}

func isWeb(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// properties checks formatProperties against the campaign's format, without reading what they refer to.
func (f *violations) properties(format model.AdFormat, p *FormatProperties) {
	const member = "formatProperties"
	switch {
	case format == model.Listing && p != nil:
		f.add("value_error", "listings have no formatProperties", member)
	case format == model.Listing:
	case p == nil:
		f.add("missing", "required", member)
	case p.AdFormat != campaigns.Formats[format]:
		f.add("value_error", "must be the campaign's adFormat", member, "adFormat")
	case format == model.Banner:
		f.banner(p)
	default:
		f.brand(p)
	}
}

func (f *violations) banner(p *FormatProperties) {
	if len(p.BannerAssets) == 0 {
		f.add("missing", "required", "formatProperties", "bannerAssets")
	}
	if p.JSONTemplateID != "" || p.Content != nil || p.Title != "" || len(p.ProductIDs) > 0 {
		f.add("value_error", "jsonTemplateId, content, title and productIds are of sponsored brands; a banner's template is that of an asset", "formatProperties")
	}
	for i := range p.BannerAssets {
		a, at := &p.BannerAssets[i], []any{"formatProperties", "bannerAssets", i}
		if a.URL == "" && a.AssetID == "" && a.Content == nil {
			f.add("missing", "required without assetId and content", append(at, "url")...)
		}
		if a.URL != "" && !isWeb(a.URL) {
			f.add("url_parsing", "must be an absolute http or https URL", append(at, "url")...)
		}
		if (a.Content == nil) != (a.JSONTemplateID == "") {
			f.add("missing", "content and jsonTemplateId come together", append(at, "jsonTemplateId")...)
		}
		f.content(a.Content, append(at, "content")...)
	}
}

func (f *violations) brand(p *FormatProperties) {
	if len(p.BannerAssets) > 0 || p.DeviceType != "" {
		f.add("value_error", "bannerAssets and deviceType are of banners", "formatProperties")
	}
	if p.JSONTemplateID == "" {
		f.add("missing", "required", "formatProperties", "jsonTemplateId")
	}
	if p.Content == nil {
		f.add("missing", "required", "formatProperties", "content")
	}
	f.content(p.Content, "formatProperties", "content")
}

func (f *violations) content(o *resource.Object, loc ...any) {
	if o != nil && len(*o) > contentMax {
		f.add("value_error", "must have at most 16 KiB", loc...)
	}
}

// creative converts the content of a bid to the engine's form.
func (p *FormatProperties) creative() *model.Creative {
	if p == nil {
		return nil
	}
	c := &model.Creative{
		Place: p.SlotID, Device: campaigns.Number[model.Device](deviceWords, p.DeviceType),
		TemplateID: canonical(p.JSONTemplateID), Title: p.Title, Content: compact(p.Content), Products: p.ProductIDs,
	}
	for i := range p.BannerAssets {
		a := &p.BannerAssets[i]
		x := model.BannerAsset{
			URL: a.URL, ContentType: a.ContentType, AssetID: canonical(a.AssetID),
			Content: compact(a.Content), TemplateID: canonical(a.JSONTemplateID),
		}
		if a.Dimensions != nil {
			x.Dimensions = model.Dimensions{Width: uint32(a.Dimensions.Width), Height: uint32(a.Dimensions.Height)}
		}
		if a.Size != nil {
			x.Bytes = uint64(*a.Size) // Not negative.
		}
		c.Assets = append(c.Assets, x)
	}
	return c
}

// canonical writes a UUID in the form in which the engine compares it.
func canonical(id string) string {
	if id == "" {
		return ""
	}
	return resource.ParseUUID(id).String()
}

// compact removes the white space between the parts of an object. Everything else stays byte for byte.
func compact(o *resource.Object) []byte {
	if o == nil {
		return nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, *o); err != nil {
		panic("the kit has read this object: " + err.Error())
	}
	return b.Bytes()
}

// propertiesOf converts a stored creative to the form in which it was sent.
func propertiesOf(format model.AdFormat, c *model.Creative) *FormatProperties {
	if c == nil {
		return nil
	}
	p := &FormatProperties{
		AdFormat: campaigns.Formats[format], SlotID: c.Place, DeviceType: deviceWords[c.Device],
		JSONTemplateID: c.TemplateID, Content: objectOf(c.Content), Title: c.Title, ProductIDs: c.Products,
	}
	for i := range c.Assets {
		a := &c.Assets[i]
		x := BannerAsset{URL: a.URL, ContentType: a.ContentType, AssetID: a.AssetID, Content: objectOf(a.Content), JSONTemplateID: a.TemplateID}
		if a.Dimensions != (model.Dimensions{}) {
			x.Dimensions = &Dimensions{int64(a.Dimensions.Width), int64(a.Dimensions.Height)}
		}
		if a.Bytes != 0 {
			x.Size = new(int64(a.Bytes)) // Was one.
		}
		p.BannerAssets = append(p.BannerAssets, x)
	}
	return p
}

func objectOf(text []byte) *resource.Object {
	if len(text) == 0 {
		return nil
	}
	return new(resource.Object(text))
}

// idOf reads the id of a stored creative.
func idOf(text string) ids.UUID { return resource.ParseUUID(text) }
