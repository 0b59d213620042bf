package creative

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// Bounds of metadata. They are the interface's.
const (
	metadataMax      = 20 // BOUND: entries.
	metadataKeyMax   = 32 // BOUND: characters.
	metadataValueMax = 64 // BOUND: characters.
)

// AssetBody is a new asset.
type AssetBody struct {
	Name        string          `json:"name" minLength:"1" maxLength:"64" pattern:"^[^<>/\\\\]+$"`
	ProductIDs  []string        `json:"productIds,omitempty" maxItems:"10" minLength:"1" maxLength:"255" doc:"Not checked against the catalog."`
	Brands      []string        `json:"brands,omitempty" maxItems:"10" minLength:"1" maxLength:"255" doc:"Not checked against the catalog."`
	MimeType    string          `json:"mimetype,omitempty" enum:"image/jpeg,image/png,image/gif,image/webp,text/html,video/mp4,video/quicktime,application/json,text/vtt" doc:"Absent on a hosted asset: taken from the uploaded file."`
	Metadata    resource.Object `json:"metadata,omitempty" doc:"Strings, at most 20; keys of 1 to 32 characters, values of at most 64."`
	ExternalURL string          `json:"externalUrl,omitempty" maxLength:"2083" format:"uri" doc:"http or https; never fetched by the node. Without it the file is uploaded."`
}

// AssetPatch changes the members that it contains.
type AssetPatch struct {
	Name       *string         `json:"name,omitempty" minLength:"1" maxLength:"64" pattern:"^[^<>/\\\\]+$"`
	ProductIDs []string        `json:"productIds,omitempty" maxItems:"10" minLength:"1" maxLength:"255" doc:"Replaces the list; may be empty."`
	Brands     []string        `json:"brands,omitempty" maxItems:"10" minLength:"1" maxLength:"255" doc:"Replaces the list; may be empty."`
	Metadata   resource.Object `json:"metadata,omitempty" doc:"Replaces the object; may be empty."`
}

// AssetReview is the decision of a review.
type AssetReview struct {
	Status string `json:"status" enum:"approved,rejected"`
	Reason string `json:"reason,omitempty" maxLength:"255"`
}

// Asset is an asset in answers.
type Asset struct {
	ID         string            `json:"id" format:"uuid"`
	Name       string            `json:"name"`
	VendorID   string            `json:"vendorId"`
	ProductIDs []string          `json:"productIds"`
	Brands     []string          `json:"brands"`
	MimeType   *string           `json:"mimetype"`
	Metadata   map[string]string `json:"metadata"`
	Status     string            `json:"status" enum:"pending_upload,pending_approval,upload_error,approved,rejected"`
	Reason     string            `json:"reason,omitempty" doc:"Why it was rejected, or why the upload failed."`
	IsExternal bool              `json:"isExternal"`
	URL        string            `json:"url" doc:"The public address; a hosted asset is served there once it is approved."`
	PreviewURL string            `json:"previewUrl,omitempty" doc:"A hosted file that is not approved, for 15 minutes."`
	Fields     map[string]string `json:"fields" doc:"Form fields to send before the file. Empty unless the answer has an uploadUrl."`
	UploadURL  string            `json:"uploadUrl,omitempty"`
	CreatedAt  resource.Time     `json:"createdAt"`
	UpdatedAt  resource.Time     `json:"updatedAt"`
}

// AssetList is one page of assets.
type AssetList struct {
	Assets []Asset `json:"assets"`
	resource.Page
}

type (
	assetCreateInput struct {
		VendorID string `query:"vendor_id" required:"true" minLength:"1" maxLength:"255"`
		Body     AssetBody
	}
	assetPatchInput struct {
		OneAsset
		Body AssetPatch
	}
	reviewInput struct {
		OneAsset
		Body AssetReview
	}
	assetListInput struct {
		VendorID string   `query:"vendor_id" maxLength:"255"`
		Brand    string   `query:"brand" maxLength:"255"`
		MimeType string   `query:"mimetype" enum:"image/jpeg,image/png,image/gif,image/webp,text/html,video/mp4,video/quicktime,application/json,text/vtt"`
		Status   string   `query:"status" enum:"pending_upload,pending_approval,upload_error,approved,rejected"`
		AssetIDs []string `query:"asset_ids,explode" maxItems:"100" format:"uuid" doc:"Only these assets; repeat the parameter."`
		Limit    int      `query:"limit" minimum:"1" maximum:"100" default:"50"`
		NextPage string   `query:"next_page"`
	}
	assetOutput     struct{ Body Asset }
	assetListOutput struct{ Body AssetList }
)

// OneAsset names an asset.
type OneAsset struct {
	ID string `path:"asset_id" format:"uuid"`
	resource.Owned
}

// CheckOwner refuses a request that names another vendor than the asset's.
func (in *OneAsset) CheckOwner(ctx context.Context) error {
	if in.VendorID == "" {
		return nil
	}
	x, err := resource.Tenant(ctx).Asset(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil //nolint:nilerr // The operation finds the same error and answers it.
	}
	return resource.SameVendor(in.VendorID, x.VendorID)
}

// asset converts the body, and returns the violations that the schema does not cover.
func (b *AssetBody) asset() (store.Asset, []resource.Violation) {
	metadata, found := texts(b.Metadata)
	if b.ExternalURL != "" && !isWebURL(b.ExternalURL) {
		found = append(found, resource.At("url_parsing", "must be an absolute http or https URL", "body", "externalUrl"))
	}
	return store.Asset{
		Name: b.Name, ProductIDs: b.ProductIDs, Brands: b.Brands, MimeType: b.MimeType, Metadata: metadata, ExternalURL: b.ExternalURL,
	}, found
}

// change returns a function that applies the patch to an asset, and the violations that the schema does not cover.
func (p *AssetPatch) change() (func(*store.Asset), []resource.Violation) {
	metadata, found := texts(p.Metadata)
	return func(x *store.Asset) {
		if p.Name != nil {
			x.Name = *p.Name
		}
		if p.ProductIDs != nil {
			x.ProductIDs = p.ProductIDs
		}
		if p.Brands != nil {
			x.Brands = p.Brands
		}
		if metadata != nil {
			x.Metadata = metadata
		}
	}, found
}

// texts reads an object of strings. It returns nil if the object is absent.
func texts(o resource.Object) (map[string]string, []resource.Violation) {
	if o == nil {
		return nil, nil
	}
	var sent map[string]any
	if err := json.Unmarshal(o, &sent); err != nil {
		panic("the kit has checked this object: " + err.Error())
	}
	var found []resource.Violation
	if len(sent) > metadataMax {
		found = append(found, resource.At("too_long", "must have at most 20 entries", "body", "metadata"))
	}
	all := make(map[string]string, len(sent))
	for _, key := range slices.Sorted(maps.Keys(sent)) {
		value, isText := sent[key].(string)
		n := utf8.RuneCountInString(key)
		switch {
		case n == 0:
			found = append(found, resource.At("string_too_short", "a key must have at least 1 character", "body", "metadata"))
		case n > metadataKeyMax:
			found = append(found, resource.At("string_too_long", "a key must have at most 32 characters", "body", "metadata"))
		case !isText:
			found = append(found, resource.At("string_type", "must be a string", "body", "metadata", key))
		case utf8.RuneCountInString(value) > metadataValueMax:
			found = append(found, resource.At("string_too_long", "must have at most 64 characters", "body", "metadata", key))
		}
		all[key] = value
	}
	return all, found
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// urlOf is the public URL of an asset.
func (s *AssetService) urlOf(x *store.Asset) string {
	return x.URL(s.AssetURL)
}
