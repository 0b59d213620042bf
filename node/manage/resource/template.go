package resource

import "github.com/gavel-ads/gavel/node/store"

// Template is a JSON template in answers: by itself, and within every placement that uses it.
type Template struct {
	ID                string  `json:"id" format:"uuid"`
	MarketplaceID     string  `json:"marketplaceId" format:"uuid"`
	Name              string  `json:"name"`
	Description       string  `json:"description"`
	JSONSchema        Object  `json:"jsonSchema"`
	AdFormat          string  `json:"adFormat" enum:"banner,sponsored_brand"`
	IsArchived        bool    `json:"isArchived"`
	PreviewScreenshot *string `json:"previewScreenshot"`
	PreviewURL        *string `json:"previewUrl"`
	CreatedAt         Time    `json:"createdAt"`
	UpdatedAt         Time    `json:"updatedAt"`
}

// TemplateOf converts a stored template. marketplace is the text of the marketplace's id.
func TemplateOf(x *store.Template, marketplace string) Template {
	return Template{
		ID: x.ID.String(), MarketplaceID: marketplace, Name: x.Name, Description: x.Description,
		JSONSchema: Object(x.Schema), AdFormat: x.AdFormat, IsArchived: x.Archived,
		PreviewScreenshot: orNull(x.PreviewScreenshot), PreviewURL: orNull(x.PreviewURL),
		CreatedAt: Time(x.CreatedMillis), UpdatedAt: Time(x.UpdatedMillis),
	}
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
