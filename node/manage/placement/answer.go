package placement

import (
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// Placement is a placement in answers.
type Placement struct {
	PlacementID         string            `json:"placementId" format:"uuid"`
	MarketplaceID       string            `json:"marketplaceId" format:"uuid"`
	ExternalPlacementID string            `json:"externalPlacementId"`
	Name                string            `json:"name"`
	JSONTemplateID      string            `json:"jsonTemplateId" format:"uuid"`
	JSONTemplate        resource.Template `json:"jsonTemplate"`
	Logo                Count             `json:"logo"`
	Title               Length            `json:"title"`
	Products            ProductCounts     `json:"products"`
	PreviewTemplate     Shown             `json:"previewTemplate"`
	IsActive            bool              `json:"isActive"`
	CreatedAt           resource.Time     `json:"createdAt"`
	UpdatedAt           resource.Time     `json:"updatedAt"`
}

// Count bounds a number of items.
type Count struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// Length bounds the length of a text, in characters.
type Length struct {
	MinLength int64 `json:"minLength"`
	MaxLength int64 `json:"maxLength"`
}

// ProductCounts bounds the number of products, and of images of each.
type ProductCounts struct {
	Count
	Assets Count `json:"assets"`
}

// Shown is the preview in answers.
type Shown struct {
	HTML string `json:"html,omitempty"`
	CSS  string `json:"css,omitempty"`
}

// List is one page of placements.
type List struct {
	Placements []Placement `json:"placements"`
	resource.Page
}

func placementOf(x *store.Placement, template *store.Template, marketplace string) Placement {
	return Placement{
		PlacementID: x.ID.String(), MarketplaceID: marketplace, ExternalPlacementID: x.ExternalID, Name: x.Name,
		JSONTemplateID: x.Template.String(), JSONTemplate: resource.TemplateOf(template, marketplace),
		Logo: Count(x.Logo), Title: Length{x.Title.Min, x.Title.Max}, Products: ProductCounts{Count(x.Products), Count(x.Assets)},
		PreviewTemplate: Shown{x.HTML, x.CSS}, IsActive: !x.Inactive,
		CreatedAt: resource.Time(x.CreatedMillis), UpdatedAt: resource.Time(x.UpdatedMillis),
	}
}
