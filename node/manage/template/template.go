// Package template serves JSON templates, which the content of banners and sponsored brands fills in.
package template

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

const (
	base = "/public/v1/campaign-service/json-templates"
	one  = base + "/{json_template_id}"
	tag  = "JSON templates"
)

// Store is what templates need of a marketplace's store.
type Store interface {
	Settings() market.Marketplace
	CreateTemplate(ctx context.Context, x *store.Template) error
	Template(ctx context.Context, id ids.UUID) (store.Template, error)
	Templates(ctx context.Context, p store.Page, keep func(*store.Template) bool) ([]store.Template, bool, error)
	ChangeTemplate(ctx context.Context, id ids.UUID, fn func(*store.Template)) (store.Template, error)
	CursorKey() [32]byte
}

// Register mounts the template operations.
func Register(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "createJsonTemplate", Method: http.MethodPost, Status: http.StatusCreated, Path: base, Tag: tag, Doc: "Create a JSON template.",
	}, create)
	resource.Add(api, resource.Op{
		ID: "listJsonTemplates", Method: http.MethodGet, Path: base, Tag: tag, Doc: "List the JSON templates, newest first.",
	}, list)
	resource.Add(api, resource.Op{ID: "getJsonTemplate", Method: http.MethodGet, Path: one, Tag: tag, Doc: "Get a JSON template, an archived one too."}, get)
	resource.Add(api, resource.Op{
		ID: "updateJsonTemplate", Method: http.MethodPatch, Path: one, Tag: tag,
		Doc: "Change a JSON template; existing content is not checked again.",
	}, patch)
	resource.Add(api, resource.Op{
		ID: "archiveJsonTemplate", Method: http.MethodPost, Path: one + "/archive", Tag: tag,
		Doc: "Archive a JSON template permanently: it accepts no new content, and its name is free again.",
	}, archive)
}

func storeOf(ctx context.Context) Store { return resource.Tenant[Store](ctx) }

func create(ctx context.Context, in *createInput) (*output, error) {
	if err := check(in.Body.JSONSchema, in.Body.PreviewScreenshot, in.Body.PreviewURL); err != nil {
		return nil, err
	}
	x := in.Body.template()
	if err := storeOf(ctx).CreateTemplate(ctx, &x); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return answer(ctx, &x), nil
}

// list returns a page of the templates. A limit of 0 asks whether there are any.
func list(ctx context.Context, in *listInput) (*listOutput, error) {
	st := storeOf(ctx)
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listJsonTemplates", in.Search, boolText(in.IncludeArchived))
	keep := in.filter()
	page, end, err := resource.ListOrPeek(cursors, in.NextPage, in.Limit, func(x store.Template) string { return x.ListPosition() },
		func(p store.Page) ([]store.Template, bool, error) { return st.Templates(ctx, p, keep) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	marketplace := st.Settings().ID.String()
	all := make([]resource.Template, len(page))
	for i := range page {
		all[i] = resource.TemplateOf(&page[i], marketplace)
	}
	return &listOutput{List{all, end}}, nil
}

func get(ctx context.Context, in *oneInput) (*output, error) {
	x, err := storeOf(ctx).Template(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return answer(ctx, &x), nil
}

func patch(ctx context.Context, in *patchInput) (*output, error) {
	if err := check(in.Body.JSONSchema, in.Body.PreviewScreenshot.Value, in.Body.PreviewURL.Value); err != nil {
		return nil, err
	}
	x, err := storeOf(ctx).ChangeTemplate(ctx, resource.ParseUUID(in.ID), in.Body.apply)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return answer(ctx, &x), nil
}

// archive archives a template. It may be repeated; an archived template stays as it is.
func archive(ctx context.Context, in *oneInput) (*output, error) {
	x, err := storeOf(ctx).ChangeTemplate(ctx, resource.ParseUUID(in.ID), func(x *store.Template) { x.Archived = true })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return answer(ctx, &x), nil
}
