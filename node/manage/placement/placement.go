// Package placement serves placements, which describe where sponsored brands appear on a storefront and what their content must
// have.
//
// Limit: a template that is archived at the moment in which a placement is created with it may get that placement.
package placement

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

const (
	base = "/public/v1/placement-service/placements"
	one  = base + "/{placement_id}"
	tag  = "Placements"
)

// Store is what placements need of a marketplace's store.
type Store interface {
	Settings() market.Marketplace
	CreatePlacement(ctx context.Context, x *store.Placement) error
	Placement(ctx context.Context, id ids.UUID) (store.Placement, error)
	Placements(ctx context.Context, p store.Page) ([]store.Placement, bool, error)
	ChangePlacement(ctx context.Context, id ids.UUID, fn func(*store.Placement) error) (store.Placement, error)
	Template(ctx context.Context, id ids.UUID) (store.Template, error)
	CursorKey() [32]byte
}

// Register mounts the placement operations.
func Register(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "createPlacement", Method: http.MethodPost, Status: http.StatusCreated, Path: base, Tag: tag, Doc: "Create a placement.",
	}, create)
	resource.Add(api, resource.Op{ID: "listPlacements", Method: http.MethodGet, Path: base, Tag: tag, Doc: "List the placements, newest first."}, list)
	resource.Add(api, resource.Op{ID: "getPlacement", Method: http.MethodGet, Path: one, Tag: tag, Doc: "Get a placement."}, get)
	resource.Add(api, resource.Op{
		ID: "updatePlacement", Method: http.MethodPatch, Path: one, Tag: tag,
		Doc: "Change a placement; absent members stay, also within logo, title, products and previewTemplate.",
	}, patch)
}

func storeOf(ctx context.Context) Store { return resource.Tenant[Store](ctx) }

func create(ctx context.Context, in *createInput) (*output, error) {
	x := in.Body.placement()
	if found := validateCrossField(&x); len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	template, err := usableTemplate(ctx, x.Template)
	if err != nil {
		return nil, err
	}
	if err := storeOf(ctx).CreatePlacement(ctx, &x); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &output{placementOf(&x, &template, storeOf(ctx).Settings().ID.String())}, nil
}

// usableTemplate returns a template that accepts new content. A template that is archived at this very moment may pass, as if it had
// been archived a moment later.
func usableTemplate(ctx context.Context, id ids.UUID) (store.Template, error) {
	x, err := storeOf(ctx).Template(ctx, id)
	if err != nil {
		return x, resource.ErrorOf(err)
	}
	if x.Archived {
		return x, resource.Refuse(apierr.InvalidOperation, "the template is archived")
	}
	return x, nil
}

func list(ctx context.Context, in *listInput) (*listOutput, error) {
	st := storeOf(ctx)
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listPlacements")
	page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(x store.Placement) string { return x.ListPosition() },
		func(p store.Page) ([]store.Placement, bool, error) { return st.Placements(ctx, p) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := make([]Placement, len(page))
	marketplace := st.Settings().ID.String()
	for i := range page {
		template, err := st.Template(ctx, page[i].Template)
		if err != nil {
			return nil, resource.ErrorOf(err)
		}
		all[i] = placementOf(&page[i], &template, marketplace)
	}
	return &listOutput{List{all, end}}, nil
}

func get(ctx context.Context, in *oneInput) (*output, error) {
	x, err := storeOf(ctx).Placement(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return answer(ctx, &x)
}

// patch checks that the placement exists, then its new template, and then the combination of both.
func patch(ctx context.Context, in *patchInput) (*output, error) {
	st, id := storeOf(ctx), resource.ParseUUID(in.ID)
	if _, err := st.Placement(ctx, id); err != nil {
		return nil, resource.ErrorOf(err)
	}
	if in.Body.JSONTemplateID != nil {
		if _, err := usableTemplate(ctx, resource.ParseUUID(*in.Body.JSONTemplateID)); err != nil {
			return nil, err
		}
	}
	x, err := st.ChangePlacement(ctx, id, func(x *store.Placement) error {
		in.Body.apply(x)
		if found := validateCrossField(x); len(found) > 0 {
			return resource.Invalid(found...)
		}
		return nil
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return answer(ctx, &x)
}

func answer(ctx context.Context, x *store.Placement) (*output, error) {
	template, err := storeOf(ctx).Template(ctx, x.Template)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &output{placementOf(x, &template, storeOf(ctx).Settings().ID.String())}, nil
}
