package store

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Template is a JSON template that the content of banners and sponsored brands fills in.
type Template struct {
	ID                ids.UUID
	Name              string // Unique without case among those that are not archived.
	Description       string
	Schema            json.RawMessage // Checked by node/jsonform before it gets here.
	AdFormat          string          // banner or sponsored_brand.
	Archived          bool            // It accepts no new content. Archiving is permanent.
	PreviewScreenshot string          // Empty when there is none.
	PreviewURL        string
	CreatedMillis     int64
	UpdatedMillis     int64
}

// ListPosition is the template's position in lists.
func (x *Template) ListPosition() string { return positionOf(x.CreatedMillis, x.ID) }

var templates = collection[Template]{command.RecordTemplate, command.RecordTemplateIndex, func(x *Template) itemKey {
	return itemKey{x.ID, x.CreatedMillis, x.uniqueName()}
}}

// uniqueName is the name in the form in which names are compared. An archived template frees its name; the id stands in for it.
func (x *Template) uniqueName() string {
	if x.Archived {
		return "archived " + x.ID.String()
	}
	return "name " + strings.ToLower(strings.ToUpper(x.Name)) // Upper case first: some letters have two lower case forms.
}

// CreateTemplate stores a new template and fills in its id and times. ErrAlreadyExists when the name is taken.
func (t Tenant) CreateTemplate(ctx context.Context, x *Template) error {
	x.ID, x.CreatedMillis = t.mint(ctx, 0), t.now()
	x.UpdatedMillis = x.CreatedMillis
	stored, err := templates.add(ctx, t, []Template{*x})
	if err != nil {
		return err
	}
	*x = stored[0]
	return nil
}

// Template returns a template, archived or not, or ErrNotFound.
func (t Tenant) Template(_ context.Context, id ids.UUID) (Template, error) {
	at, err := templates.find(t, keyOfID(id))
	return at.item, err
}

// Templates lists the templates for which keep returns true, newest first.
func (t Tenant) Templates(_ context.Context, p Page, keep func(*Template) bool) ([]Template, bool, error) {
	return templates.list(t, p, keep)
}

// ChangeTemplate rewrites a template. fn may run several times; if it changes nothing, the times stay. ErrAlreadyExists
// when the new name is taken.
func (t Tenant) ChangeTemplate(ctx context.Context, id ids.UUID, fn func(*Template)) (Template, error) {
	return templates.change(ctx, t, keyOfID(id), func(x *Template) {
		before := *x
		if fn(x); !reflect.DeepEqual(before, *x) {
			x.UpdatedMillis = t.now()
		}
	})
}
