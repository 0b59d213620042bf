package creative

import (
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// PlacementBody is a new placement.
type PlacementBody struct {
	ExternalPlacementID string             `json:"externalPlacementId" minLength:"1" maxLength:"255" pattern:"^[A-Za-z0-9_-]+$" doc:"The marketplace's own id, unique; the slotId of sponsored brands."`
	Name                string             `json:"name" minLength:"5" maxLength:"50"`
	JSONTemplateID      string             `json:"jsonTemplateId" format:"uuid" doc:"Of a template that is not archived."`
	Logo                *PlacementLogo     `json:"logo,omitempty"`
	Title               *PlacementTitle    `json:"title,omitempty"`
	Products            *PlacementProducts `json:"products,omitempty"`
	PreviewTemplate     *PlacementPreview  `json:"previewTemplate,omitempty" doc:"Stored as it is sent; it is only shown in a sandbox."`
}

// PlacementPatch changes the members that it contains.
type PlacementPatch struct {
	Name            *string            `json:"name,omitempty" minLength:"5" maxLength:"50"`
	JSONTemplateID  *string            `json:"jsonTemplateId,omitempty" format:"uuid" doc:"Of a template that is not archived."`
	Logo            *PlacementLogo     `json:"logo,omitempty"`
	Title           *PlacementTitle    `json:"title,omitempty"`
	Products        *PlacementProducts `json:"products,omitempty"`
	PreviewTemplate *PlacementPreview  `json:"previewTemplate,omitempty"`
	IsActive        *bool              `json:"isActive,omitempty"`
}

// PlacementLogo bounds the number of logos.
type PlacementLogo struct {
	Min *int64 `json:"min,omitempty" minimum:"0" maximum:"10" doc:"Default 1; at most max."`
	Max *int64 `json:"max,omitempty" minimum:"0" maximum:"10" doc:"Default 1."`
}

// PlacementTitle bounds the length of the title.
type PlacementTitle struct {
	MinLength *int64 `json:"minLength,omitempty" minimum:"0" maximum:"255" doc:"Characters, default 1; at most maxLength."`
	MaxLength *int64 `json:"maxLength,omitempty" minimum:"1" maximum:"255" doc:"Characters, default 100."`
}

// PlacementProducts bounds the number of products.
type PlacementProducts struct {
	Min    *int64           `json:"min,omitempty" minimum:"0" maximum:"50" doc:"Default 1; at most max."`
	Max    *int64           `json:"max,omitempty" minimum:"0" maximum:"50" doc:"Default 10."`
	Assets *PlacementAssets `json:"assets,omitempty"`
}

// PlacementAssets bounds the number of images of a product.
type PlacementAssets struct {
	Min *int64 `json:"min,omitempty" minimum:"0" maximum:"10" doc:"Default 1; at most max."`
	Max *int64 `json:"max,omitempty" minimum:"0" maximum:"10" doc:"Default 1."`
}

// PlacementPreview is the HTML and CSS with which the console shows the placement.
type PlacementPreview struct {
	HTML *string `json:"html,omitempty" maxLength:"65536"`
	CSS  *string `json:"css,omitempty" maxLength:"65536"`
}

type (
	placementCreateInput struct{ Body PlacementBody }
	placementPatchInput  struct {
		ID   string `path:"placement_id" format:"uuid"`
		Body PlacementPatch
	}
	onePlacementInput struct {
		ID string `path:"placement_id" format:"uuid"`
	}
	placementListInput struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	placementOutput     = resource.Output[Placement]
	placementListOutput struct{ Body PlacementList }
)

// placement converts the body, with defaults for absent members.
func (b *PlacementBody) placement() store.Placement {
	x := store.Placement{
		ExternalID: b.ExternalPlacementID, Name: b.Name, Template: resource.ParseUUID(b.JSONTemplateID),
		Logo: store.Range{Min: 1, Max: 1}, Title: store.Range{Min: 1, Max: 100},
		Products: store.Range{Min: 1, Max: 10}, Assets: store.Range{Min: 1, Max: 1},
	}
	p := PlacementPatch{Logo: b.Logo, Title: b.Title, Products: b.Products, PreviewTemplate: b.PreviewTemplate}
	p.apply(&x)
	return x
}

// apply changes the members that the patch contains.
func (p *PlacementPatch) apply(x *store.Placement) {
	setPlacement(&x.Name, p.Name)
	if p.JSONTemplateID != nil {
		x.Template = resource.ParseUUID(*p.JSONTemplateID)
	}
	if p.Logo != nil {
		changePlacement(&x.Logo, p.Logo.Min, p.Logo.Max)
	}
	if p.Title != nil {
		changePlacement(&x.Title, p.Title.MinLength, p.Title.MaxLength)
	}
	if p.Products != nil {
		changePlacement(&x.Products, p.Products.Min, p.Products.Max)
	}
	if p.Products != nil && p.Products.Assets != nil {
		changePlacement(&x.Assets, p.Products.Assets.Min, p.Products.Assets.Max)
	}
	if p.PreviewTemplate != nil {
		setPlacement(&x.HTML, p.PreviewTemplate.HTML)
		setPlacement(&x.CSS, p.PreviewTemplate.CSS)
	}
	if p.IsActive != nil {
		x.Inactive = !*p.IsActive
	}
}

func changePlacement(r *store.Range, least, most *int64) {
	setPlacement(&r.Min, least)
	setPlacement(&r.Max, most)
}

func setPlacement[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// validateCrossField checks the rules that concern two members, after defaults are applied: no range may be empty.
func validateCrossField(x *store.Placement) (found []resource.Violation) {
	for _, r := range []struct {
		of  store.Range
		loc []any
	}{
		{x.Logo, []any{"body", "logo", "min"}},
		{x.Title, []any{"body", "title", "minLength"}},
		{x.Products, []any{"body", "products", "min"}},
		{x.Assets, []any{"body", "products", "assets", "min"}},
	} {
		if r.of.Min > r.of.Max {
			found = append(found, resource.At("value_error", "must not be above the maximum beside it", r.loc...))
		}
	}
	return found
}
