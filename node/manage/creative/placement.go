package creative

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

const (
	placementBase = "/public/v1/placement-service/placements"
	onePlacement  = placementBase + "/{placement_id}"
	placementTag  = "Placements"
)

// RegisterPlacements mounts the placement operations.
func RegisterPlacements(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "createPlacement", Method: http.MethodPost, Status: http.StatusCreated, Path: placementBase, Tag: placementTag, Doc: "Create a placement.",
	}, createPlacement)
	resource.Add(api, resource.Op{ID: "listPlacements", Method: http.MethodGet, Path: placementBase, Tag: placementTag, Doc: "List the placements, newest first."}, listPlacements)
	resource.Add(api, resource.Op{ID: "getPlacement", Method: http.MethodGet, Path: onePlacement, Tag: placementTag, Doc: "Get a placement."}, getPlacement)
	resource.Add(api, resource.Op{
		ID: "updatePlacement", Method: http.MethodPatch, Path: onePlacement, Tag: placementTag,
		Doc: "Change a placement; absent members stay, also within logo, title, products and previewTemplate.",
	}, patchPlacement)
}

func createPlacement(ctx context.Context, in *placementCreateInput) (*placementOutput, error) {
	x := in.Body.placement()
	if found := validateCrossField(&x); len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	template, err := usableTemplate(ctx, x.Template)
	if err != nil {
		return nil, err
	}
	if err := resource.Tenant(ctx).CreatePlacement(ctx, &x); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &placementOutput{placementOf(&x, &template, resource.Tenant(ctx).Settings().ID.String())}, nil
}

// usableTemplate returns a template that accepts new content. A template that is archived at this very moment may pass, as if it had
// been archived a moment later.
func usableTemplate(ctx context.Context, id ids.UUID) (store.Template, error) {
	x, err := resource.Tenant(ctx).Template(ctx, id)
	if err != nil {
		return x, resource.ErrorOf(err)
	}
	if x.Archived {
		return x, resource.Refuse(apierr.InvalidOperation, "the template is archived")
	}
	return x, nil
}

func listPlacements(ctx context.Context, in *placementListInput) (*placementListOutput, error) {
	st := resource.Tenant(ctx)
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
	return &placementListOutput{PlacementList{all, end}}, nil
}

func getPlacement(ctx context.Context, in *onePlacementInput) (*placementOutput, error) {
	x, err := resource.Tenant(ctx).Placement(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return placementAnswer(ctx, &x)
}

// patchPlacement checks that the placement exists, then its new template, and then the combination of both.
func patchPlacement(ctx context.Context, in *placementPatchInput) (*placementOutput, error) {
	st, id := resource.Tenant(ctx), resource.ParseUUID(in.ID)
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
	return placementAnswer(ctx, &x)
}

func placementAnswer(ctx context.Context, x *store.Placement) (*placementOutput, error) {
	template, err := resource.Tenant(ctx).Template(ctx, x.Template)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &placementOutput{placementOf(x, &template, resource.Tenant(ctx).Settings().ID.String())}, nil
}
