package creative

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	templateBase = "/public/v1/campaign-service/json-templates"
	oneTemplate  = templateBase + "/{json_template_id}"
	templateTag  = "JSON templates"
)

// RegisterTemplates mounts the template operations.
func RegisterTemplates(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "createJsonTemplate", Method: http.MethodPost, Status: http.StatusCreated, Path: templateBase, Tag: templateTag, Doc: "Create a JSON template.",
	}, createTemplate)
	resource.Add(api, resource.Op{
		ID: "listJsonTemplates", Method: http.MethodGet, Path: templateBase, Tag: templateTag, Doc: "List the JSON templates, newest first.",
	}, listTemplates)
	resource.Add(api, resource.Op{ID: "getJsonTemplate", Method: http.MethodGet, Path: oneTemplate, Tag: templateTag, Doc: "Get a JSON template, an archived one too."}, getTemplate)
	resource.Add(api, resource.Op{
		ID: "updateJsonTemplate", Method: http.MethodPatch, Path: oneTemplate, Tag: templateTag,
		Doc: "Change a JSON template; existing content is not checked again.",
	}, patchTemplate)
	resource.Add(api, resource.Op{
		ID: "archiveJsonTemplate", Method: http.MethodPost, Path: oneTemplate + "/archive", Tag: templateTag,
		Doc: "Archive a JSON template permanently: it accepts no new content, and its name is free again.",
	}, archive)
}

func createTemplate(ctx context.Context, in *templateCreateInput) (*templateOutput, error) {
	if err := checkTemplate(in.Body.JSONSchema, in.Body.PreviewScreenshot, in.Body.PreviewURL); err != nil {
		return nil, err
	}
	x := in.Body.template()
	if err := resource.Tenant(ctx).CreateTemplate(ctx, &x); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return templateAnswer(ctx, &x), nil
}

// listTemplates returns a page of the templates. A limit of 0 asks whether there are any.
func listTemplates(ctx context.Context, in *templateListInput) (*templateListOutput, error) {
	st := resource.Tenant(ctx)
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
	return &templateListOutput{TemplateList{all, end}}, nil
}

func getTemplate(ctx context.Context, in *oneTemplateInput) (*templateOutput, error) {
	x, err := resource.Tenant(ctx).Template(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return templateAnswer(ctx, &x), nil
}

func patchTemplate(ctx context.Context, in *templatePatchInput) (*templateOutput, error) {
	if err := checkTemplate(in.Body.JSONSchema, in.Body.PreviewScreenshot.Value, in.Body.PreviewURL.Value); err != nil {
		return nil, err
	}
	x, err := resource.Tenant(ctx).ChangeTemplate(ctx, resource.ParseUUID(in.ID), in.Body.apply)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return templateAnswer(ctx, &x), nil
}

// archive archives a template. It may be repeated; an archived template stays as it is.
func archive(ctx context.Context, in *oneTemplateInput) (*templateOutput, error) {
	x, err := resource.Tenant(ctx).ChangeTemplate(ctx, resource.ParseUUID(in.ID), func(x *store.Template) { x.Archived = true })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return templateAnswer(ctx, &x), nil
}
