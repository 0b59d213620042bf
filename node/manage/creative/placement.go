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

// placements are served from the store's collection. An answer contains the placement's template.
var placements = resource.Collection[store.Placement, Placement]{
	Items: store.Placements(),
	Answer: func(ctx context.Context, x *store.Placement) (Placement, error) {
		template, err := templates.Items.Get(resource.Tenant(ctx), x.Template)
		return placementOf(x, &template, resource.Tenant(ctx).Settings().ID.String()), resource.ErrorOf(err)
	},
}

func createPlacement(ctx context.Context, in *placementCreateInput) (*placementOutput, error) {
	x := in.Body.placement()
	if found := validateCrossField(&x); len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	if err := requireUsable(ctx, x.Template); err != nil {
		return nil, err
	}
	return placements.Create(ctx, &x)
}

// requireUsable refuses a template that accepts no new content. A template that is archived at this very moment may pass, as if
// it had been archived a moment later.
func requireUsable(ctx context.Context, template ids.UUID) error {
	x, err := templates.Items.Get(resource.Tenant(ctx), template)
	if err != nil {
		return resource.ErrorOf(err)
	}
	if x.Archived {
		return resource.Refuse(apierr.InvalidOperation, "the template is archived")
	}
	return nil
}

func listPlacements(ctx context.Context, in *placementListInput) (*placementListOutput, error) {
	all, end, err := placements.List(ctx, resource.Query[store.Placement]{Operation: "listPlacements", Limit: in.Limit, NextPage: in.NextPage})
	if err != nil {
		return nil, err
	}
	return &placementListOutput{PlacementList{all, end}}, nil
}

func getPlacement(ctx context.Context, in *onePlacementInput) (*placementOutput, error) {
	return placements.Get(ctx, in.ID)
}

// patchPlacement checks that the placement exists, then its new template, and then the combination of both.
func patchPlacement(ctx context.Context, in *placementPatchInput) (*placementOutput, error) {
	return placements.Change(ctx, in.ID, func(x *store.Placement) error {
		if in.Body.JSONTemplateID != nil {
			if err := requireUsable(ctx, resource.ParseUUID(*in.Body.JSONTemplateID)); err != nil {
				return err
			}
		}
		in.Body.apply(x)
		if found := validateCrossField(x); len(found) > 0 {
			return resource.Invalid(found...)
		}
		return nil
	})
}
