package creative

import (
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// Placement is a placement in answers.
type Placement struct {
	PlacementID         string                 `json:"placementId" format:"uuid"`
	MarketplaceID       string                 `json:"marketplaceId" format:"uuid"`
	ExternalPlacementID string                 `json:"externalPlacementId"`
	Name                string                 `json:"name"`
	JSONTemplateID      string                 `json:"jsonTemplateId" format:"uuid"`
	JSONTemplate        resource.Template      `json:"jsonTemplate"`
	Logo                PlacementCount         `json:"logo"`
	Title               PlacementLength        `json:"title"`
	Products            PlacementProductCounts `json:"products"`
	PreviewTemplate     PlacementShown         `json:"previewTemplate"`
	IsActive            bool                   `json:"isActive"`
	CreatedAt           resource.Time          `json:"createdAt"`
	UpdatedAt           resource.Time          `json:"updatedAt"`
}

// PlacementCount bounds a number of items.
type PlacementCount struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// PlacementLength bounds the length of a text, in characters.
type PlacementLength struct {
	MinLength int64 `json:"minLength"`
	MaxLength int64 `json:"maxLength"`
}

// PlacementProductCounts bounds the number of products, and of images of each.
type PlacementProductCounts struct {
	PlacementCount
	Assets PlacementCount `json:"assets"`
}

// PlacementShown is the preview in answers.
type PlacementShown struct {
	HTML string `json:"html,omitempty"`
	CSS  string `json:"css,omitempty"`
}

// PlacementList is one page of placements.
type PlacementList struct {
	Placements []Placement `json:"placements"`
	resource.Page
}

func placementOf(x *store.Placement, template *store.Template, marketplace string) Placement {
	return Placement{
		PlacementID: x.ID.String(), MarketplaceID: marketplace, ExternalPlacementID: x.ExternalID, Name: x.Name,
		JSONTemplateID: x.Template.String(), JSONTemplate: resource.TemplateOf(template, marketplace),
		Logo: PlacementCount(x.Logo), Title: PlacementLength{x.Title.Min, x.Title.Max}, Products: PlacementProductCounts{PlacementCount(x.Products), PlacementCount(x.Assets)},
		PreviewTemplate: PlacementShown{x.HTML, x.CSS}, IsActive: !x.Inactive,
		CreatedAt: resource.Time(x.CreatedMillis), UpdatedAt: resource.Time(x.UpdatedMillis),
	}
}
