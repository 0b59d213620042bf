package slot

import (
	"net/url"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/market"
)

// Size is a width and a height in pixels.
type Size struct {
	Width  int64 `json:"width" minimum:"1"`
	Height int64 `json:"height" minimum:"1"`
}

// Dimensions are the sizes that a slot has, by device.
type Dimensions struct {
	Desktop *Size `json:"desktop,omitempty" doc:"Absent: not shown on this device."`
	Mobile  *Size `json:"mobile,omitempty" doc:"Absent: not shown on this device."`
}

// PageBody is the page of the storefront that a slot is on.
type PageBody struct {
	Name     string  `json:"name" minLength:"1" maxLength:"255"`
	URL      string  `json:"url" minLength:"1" maxLength:"2083" format:"uri" doc:"http or https."`
	ImageURL *string `json:"imageUrl,omitempty" maxLength:"2083" format:"uri" doc:"http or https."`
}

// Body is a slot as the marketplace sends it.
type Body struct {
	SlotID     string     `json:"slotId" minLength:"1" maxLength:"255" doc:"The marketplace's own id, unique."`
	Dimensions Dimensions `json:"dimensions"`
	Position   string     `json:"position" enum:"category,search,category_search,landing"`
	Page       *PageBody  `json:"page,omitempty"`
}

// PatchBody changes the members that it contains.
type PatchBody struct {
	IsActive   *bool       `json:"isActive,omitempty"`
	Dimensions *Dimensions `json:"dimensions,omitempty" doc:"Replaces both devices."`
}

// Page is a page in answers.
type Page struct {
	ID       string `json:"id" format:"uuid" doc:"The same for all slots with this address."`
	Name     string `json:"name"`
	URL      string `json:"url"`
	ImageURL string `json:"imageUrl,omitempty"`
}

// Slot is a slot in answers.
type Slot struct {
	ID            string        `json:"id" format:"uuid"`
	ExternalID    string        `json:"externalId"`
	Position      string        `json:"position" enum:"category,search,category_search,landing"`
	MarketplaceID string        `json:"marketplaceId" format:"uuid"`
	Dimensions    Dimensions    `json:"dimensions"`
	Page          *Page         `json:"page,omitempty"`
	IsActive      bool          `json:"isActive"`
	CreatedAt     resource.Time `json:"createdAt"`
	UpdatedAt     resource.Time `json:"updatedAt"`
}

// List is one page of slots.
type List struct {
	Slots []Slot `json:"slots"`
	resource.Page
}

func (d *Dimensions) put(s *store.Slot) {
	s.Desktop, s.Mobile = (*store.Size)(d.Desktop), (*store.Size)(d.Mobile)
}

func (p *PageBody) stored() *store.SlotPage {
	if p == nil {
		return nil
	}
	s := &store.SlotPage{Name: p.Name, URL: p.URL}
	if p.ImageURL != nil {
		s.ImageURL = *p.ImageURL
	}
	return s
}

// check returns violations for URLs that are not http or https: a browser might run them.
func (p *PageBody) check(at []any) (found []resource.Violation) {
	if !isWebURL(p.URL) {
		found = append(found, notWeb(append(at, "url")))
	}
	if p.ImageURL != nil && !isWebURL(*p.ImageURL) {
		found = append(found, notWeb(append(at, "imageUrl")))
	}
	return found
}

// isWebURL reports whether a text is an absolute http or https URL.
func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func notWeb(at []any) resource.Violation {
	return resource.At("url_parsing", "must be an absolute http or https URL", at...)
}

func answer(m *market.Marketplace, s *store.Slot) Slot {
	a := Slot{
		ID: s.ID.String(), ExternalID: s.ExternalID, Position: s.Position, MarketplaceID: m.ID.String(),
		Dimensions: Dimensions{(*Size)(s.Desktop), (*Size)(s.Mobile)}, IsActive: !s.Inactive,
		CreatedAt: resource.Time(s.CreatedMillis), UpdatedAt: resource.Time(s.UpdatedMillis),
	}
	if s.Page != nil {
		a.Page = &Page{pageID(m, s.Page).String(), s.Page.Name, s.Page.URL, s.Page.ImageURL}
	}
	return a
}
