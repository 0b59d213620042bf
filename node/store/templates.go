package store

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gavel-ads/gavel/shard/command"
)

// Template is a JSON template that the content of banners and sponsored brands fills in.
type Template struct {
	Item
	Name              string // Unique without case among those that are not archived.
	Description       string
	Schema            json.RawMessage // Checked by node/jsonform before it gets here.
	AdFormat          string          // banner or sponsored_brand.
	Archived          bool            // It accepts no new content. Archiving is permanent.
	PreviewScreenshot string          // Empty when there is none.
	PreviewURL        string
	// Version counts the changes from 1. Before TemplateVersionsMax was introduced it was not stored; number reads it.
	Version int    `json:",omitempty"`
	By      Author `json:",omitzero"` // Who made this version.
}

// Templates returns the collection of all templates, archived ones included. A change keeps the version before it.
func Templates() Collection[Template] {
	c := newCollection(command.RecordTemplate, command.RecordTemplateIndex, (*Template).uniqueName)
	c.keep = keepTemplate
	return c
}

// uniqueName is the name in the form in which names are compared. An archived template frees its name; the id stands in for it.
func (x *Template) uniqueName() string {
	if x.Archived {
		return "archived " + x.ID.String()
	}
	return "name " + strings.ToLower(strings.ToUpper(x.Name)) // Upper case first: some letters have two lower case forms.
}

// CreateTemplate stores a new template and fills in its id and times. ErrAlreadyExists when the name is taken.
func (t Tenant) CreateTemplate(ctx context.Context, x *Template) error {
	return Templates().Create(ctx, t, x)
}
