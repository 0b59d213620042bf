package creative

import (
	"net/url"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// SlotSize is a width and a height in pixels.
type SlotSize struct {
	Width  int64 `json:"width" minimum:"1"`
	Height int64 `json:"height" minimum:"1"`
}

// SlotDimensions are the sizes that a slot has, by device.
type SlotDimensions struct {
	Desktop *SlotSize `json:"desktop,omitempty" doc:"Absent: not shown on this device."`
	Mobile  *SlotSize `json:"mobile,omitempty" doc:"Absent: not shown on this device."`
}

// SlotPageBody is the page of the storefront that a slot is on.
type SlotPageBody struct {
	Name     string  `json:"name" minLength:"1" maxLength:"255"`
	URL      string  `json:"url" minLength:"1" maxLength:"2083" format:"uri" doc:"http or https."`
	ImageURL *string `json:"imageUrl,omitempty" maxLength:"2083" format:"uri" doc:"http or https."`
}

// SlotBody is a slot as the marketplace sends it.
type SlotBody struct {
	SlotID     string         `json:"slotId" minLength:"1" maxLength:"255" doc:"The marketplace's own id, unique."`
	Dimensions SlotDimensions `json:"dimensions"`
	Position   string         `json:"position" enum:"category,search,category_search,landing"`
	Page       *SlotPageBody  `json:"page,omitempty"`
}

// SlotPatchBody changes the members that it contains.
type SlotPatchBody struct {
	IsActive   *bool           `json:"isActive,omitempty"`
	Dimensions *SlotDimensions `json:"dimensions,omitempty" doc:"Replaces both devices."`
}

// SlotPage is a page in answers.
type SlotPage struct {
	ID       string `json:"id" format:"uuid" doc:"The same for all slots with this address."`
	Name     string `json:"name"`
	URL      string `json:"url"`
	ImageURL string `json:"imageUrl,omitempty"`
}

// Slot is a slot in answers.
type Slot struct {
	ID            string         `json:"id" format:"uuid"`
	ExternalID    string         `json:"externalId"`
	Position      string         `json:"position" enum:"category,search,category_search,landing"`
	MarketplaceID string         `json:"marketplaceId" format:"uuid"`
	Dimensions    SlotDimensions `json:"dimensions"`
	Page          *SlotPage      `json:"page,omitempty"`
	IsActive      bool           `json:"isActive"`
	CreatedAt     resource.Time  `json:"createdAt"`
	UpdatedAt     resource.Time  `json:"updatedAt"`
}

// SlotList is one page of slots.
type SlotList struct {
	Slots []Slot `json:"slots"`
	resource.Page
}

func (d *SlotDimensions) put(s *store.Slot) {
	s.Desktop, s.Mobile = (*store.Size)(d.Desktop), (*store.Size)(d.Mobile)
}

func (p *SlotPageBody) stored() *store.SlotPage {
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
func (p *SlotPageBody) check(at []any) (found []resource.Violation) {
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

func slotAnswer(m *model.Marketplace, s *store.Slot) Slot {
	a := Slot{
		ID: s.ID.String(), ExternalID: s.ExternalID, Position: s.Position, MarketplaceID: m.ID.String(),
		Dimensions: SlotDimensions{(*SlotSize)(s.Desktop), (*SlotSize)(s.Mobile)}, IsActive: !s.Inactive,
		CreatedAt: resource.Time(s.CreatedMillis), UpdatedAt: resource.Time(s.UpdatedMillis),
	}
	if s.Page != nil {
		a.Page = &SlotPage{pageID(m, s.Page).String(), s.Page.Name, s.Page.URL, s.Page.ImageURL}
	}
	return a
}
