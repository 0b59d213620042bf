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
		Doc: "Change a JSON template; existing content is not checked again.", EmptyText: true,
	}, patchTemplate)
	resource.Add(api, resource.Op{
		ID: "archiveJsonTemplate", Method: http.MethodPost, Path: oneTemplate + "/archive", Tag: templateTag,
		Doc: "Archive a JSON template permanently: it accepts no new content, and its name is free again.",
	}, archive)
	resource.Add(api, resource.Op{
		ID: "listJsonTemplateVersions", Method: http.MethodGet, Path: oneTemplate + "/versions", Tag: templateTag,
		Doc: "List the newest 20 versions of a JSON template, the present one first. A change of anything in it makes a version.",
	}, listVersions)
	resource.Add(api, resource.Op{
		ID: "restoreJsonTemplateVersion", Method: http.MethodPost, Path: oneTemplate + "/versions/{version}/restore", Tag: templateTag,
		Doc: "Bring back what a version of a JSON template contained, as a new version. It is checked as a change is. " +
			"An archived template stays archived.",
	}, restoreVersion)
}

// templates are served from the store's collection.
var templates = resource.Collection[store.Template, resource.Template]{
	Items: store.Templates(),
	Answer: func(ctx context.Context, x *store.Template) (resource.Template, error) {
		return resource.TemplateOf(x, resource.Tenant(ctx).Settings().ID.String()), nil
	},
}

func createTemplate(ctx context.Context, in *templateCreateInput) (*templateOutput, error) {
	if err := checkTemplate(in.Body.JSONSchema, in.Body.PreviewScreenshot, in.Body.PreviewURL); err != nil {
		return nil, err
	}
	x := in.Body.template()
	return templates.Create(ctx, &x)
}

// listTemplates returns a page of the templates. A limit of 0 asks whether there are any.
func listTemplates(ctx context.Context, in *templateListInput) (*templateListOutput, error) {
	all, end, err := templates.List(ctx, resource.Query[store.Template]{
		Operation: "listJsonTemplates", Limit: in.Limit, NextPage: in.NextPage,
		Keep: in.filter(), Filters: []string{in.Search, boolText(in.IncludeArchived)},
	})
	if err != nil {
		return nil, err
	}
	return &templateListOutput{TemplateList{all, end}}, nil
}

func getTemplate(ctx context.Context, in *oneTemplateInput) (*templateOutput, error) {
	return templates.Get(ctx, in.ID)
}

func patchTemplate(ctx context.Context, in *templatePatchInput) (*templateOutput, error) {
	if err := checkTemplate(in.Body.JSONSchema, in.Body.PreviewScreenshot.Value, in.Body.PreviewURL.Value); err != nil {
		return nil, err
	}
	return templates.Change(ctx, in.ID, func(x *store.Template) error {
		in.Body.apply(x)
		return nil
	})
}

// archive archives a template. It may be repeated; an archived template stays as it is.
func archive(ctx context.Context, in *oneTemplateInput) (*templateOutput, error) {
	return templates.Change(ctx, in.ID, func(x *store.Template) error {
		x.Archived = true
		return nil
	})
}
