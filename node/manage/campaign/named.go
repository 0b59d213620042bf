package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/jsonform"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// references looks up what the creatives of a request refer to, each resource once: slots, placements, templates and assets. A
// resource that does not exist refuses the request (404, 409). Those that exist decide whether the content is valid (422).
type references struct {
	vendor     string
	products   int // How many products the campaign has.
	slots      map[string]bool
	placements map[string]store.Placement
	forms      map[string]*jsonform.Form
	assets     map[string]bool
	budget     *jsonform.Budget // What all templates and contents of the request may cost together.
}

func newReferences(ctx context.Context, vendor string, products int) *references {
	return &references{
		budget: jsonform.NewBudget(ctx),
		vendor: vendor, products: products, slots: map[string]bool{}, placements: map[string]store.Placement{},
		forms: map[string]*jsonform.Form{}, assets: map[string]bool{},
	}
}

// checkExist checks that everything that bids refer to exists.
func (n *references) checkExist(ctx context.Context, format model.AdFormat, bids []model.Bid) error {
	for i := range bids {
		c := bids[i].Creative
		if c == nil {
			continue
		}
		if err := n.checkPlace(ctx, format, c.Place); err != nil {
			return err
		}
		if err := n.form(ctx, c.TemplateID); err != nil {
			return err
		}
		for j := range c.Assets {
			if err := n.form(ctx, c.Assets[j].TemplateID); err != nil {
				return err
			}
			if err := n.asset(ctx, c.Assets[j].AssetID); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing returns the refusal for a resource that does not exist. Other errors are handled as usual.
func missing(err error, what string) error {
	if errors.Is(err, store.ErrNotFound) {
		return resource.Refuse(apierr.ResourceNotFound, what)
	}
	return resource.ErrorOf(err)
}

func (n *references) checkPlace(ctx context.Context, format model.AdFormat, id string) error {
	if format == model.Banner {
		if n.slots[id] {
			return nil
		}
		slot, err := resource.Tenant(ctx).Slot(ctx, id)
		if err == nil && slot.ExternalID != id { // Auctions refer to slots by external id only.
			err = store.ErrNotFound
		}
		n.slots[id] = true
		return missing(err, "slotId is not the external id of a slot")
	}
	if _, known := n.placements[id]; known {
		return nil
	}
	x, err := store.Placements().ByName(resource.Tenant(ctx), id)
	n.placements[id] = x
	return missing(err, "slotId is not the externalPlacementId of a placement")
}

func (n *references) form(ctx context.Context, id string) error {
	if id == "" || n.forms[id] != nil {
		return nil
	}
	x, err := store.Templates().Get(resource.Tenant(ctx), idOf(id))
	if err != nil {
		return missing(err, "jsonTemplateId is not the id of a template")
	}
	if x.Archived {
		return resource.Refuse(apierr.InvalidOperation, "the template is archived and takes no new content")
	}
	if n.forms[id], err = n.budget.Form(x.Schema); errors.Is(err, jsonform.ErrRequestWork) {
		return resource.Invalid(resource.At("json_schema", err.Error(), "body"))
	}
	return resource.ErrorOf(err)
}

// asset checks that an asset of the campaign's vendor exists. Its state does not matter; it is shown while it is approved.
func (n *references) asset(ctx context.Context, id string) error {
	if id == "" || n.assets[id] {
		return nil
	}
	x, err := resource.Tenant(ctx).Asset(ctx, idOf(id))
	if err == nil && x.VendorID != n.vendor {
		err = store.ErrNotFound
	}
	n.assets[id] = true
	return missing(err, "assetId is not an asset of the vendor")
}

// checkContent checks the content of bids against their templates and the bounds of their placements, until there are as many
// violations as an answer lists. It returns an error when the request ends. REQUIRES: checkExist succeeded.
func (n *references) checkContent(format model.AdFormat, bids []model.Bid, at []any) (found []resource.Violation, err error) {
	for i := range bids {
		c := bids[i].Creative
		if c == nil {
			continue
		}
		f := violations{at: append(append([]any{}, at...), i, "formatProperties")}
		for j := range c.Assets {
			if err := n.checkTemplate(&f, c.Assets[j].TemplateID, c.Assets[j].Content, "bannerAssets", j, "content"); err != nil {
				return nil, err
			}
		}
		if format == model.SponsoredBrand {
			if err := n.checkTemplate(&f, c.TemplateID, c.Content, "content"); err != nil {
				return nil, err
			}
			n.bounds(&f, c)
		}
		if found = append(found, f.found...); len(found) >= resource.ViolationsMax {
			break
		}
	}
	return found, nil
}

// checkTemplate checks one content against its template. Content that is too expensive to check is a violation, like content that does
// not satisfy the template.
func (n *references) checkTemplate(f *violations, template string, content []byte, loc ...any) error {
	if template == "" || len(f.found) >= resource.ViolationsMax {
		return nil
	}
	wrong, err := n.budget.Faults(n.forms[template], content)
	switch {
	case errors.Is(err, jsonform.ErrContentWork), errors.Is(err, jsonform.ErrRequestWork), errors.Is(err, jsonform.ErrNumber):
		f.add("json_schema", err.Error(), loc...)
		return nil
	case err != nil:
		return resource.ErrorOf(err)
	}
	for _, x := range wrong {
		at := slices.Clip(loc)
		for _, part := range x.At {
			at = append(at, part)
		}
		f.add("json_schema", "does not satisfy "+x.Keyword+" of the template's schema", at...)
	}
	return nil
}

// bounds checks the bounds of the placement. Logos are counted if the template has a property logo: a URL, or an array
// of URLs.
func (n *references) bounds(f *violations, c *model.Creative) {
	p := n.placements[c.Place]
	if c.TemplateID != p.Template.String() {
		f.add("value_error", "must be the template of the placement", "jsonTemplateId")
	}
	if length := int64(utf8.RuneCountInString(c.Title)); length > 0 && !within(length, p.Title) {
		f.add("value_error", "must be as long as the placement's title bounds say", "title")
	}
	products := len(c.Products)
	if products == 0 {
		products = n.products
	}
	if !within(int64(products), p.Products) {
		f.add("value_error", "must be as many as the placement's products bounds say; without any, the campaign's count", "productIds")
	}
	if n.forms[c.TemplateID].HasProperty("logo") && !within(logos(c.Content), p.Logo) {
		f.add("value_error", "must be as many as the placement's logo bounds say", "content", "logo")
	}
}

// logos counts the logos of a content, which is an object.
func logos(content []byte) int64 {
	var c struct {
		Logo json.RawMessage `json:"logo"`
	}
	if err := json.Unmarshal(content, &c); err != nil || len(c.Logo) == 0 {
		return 0
	}
	var all []json.RawMessage
	if err := json.Unmarshal(c.Logo, &all); err != nil {
		return 1
	}
	return int64(len(all))
}

func within(n int64, r store.Range) bool { return r.Min <= n && n <= r.Max }
