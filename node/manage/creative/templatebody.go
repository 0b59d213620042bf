package creative

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/gavel-ads/gavel/node/jsonform"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// TemplateBody is a new template.
type TemplateBody struct {
	Name              string          `json:"name" minLength:"1" maxLength:"50" doc:"Unique among the templates that are not archived, compared without case."`
	Description       string          `json:"description" minLength:"1" maxLength:"100"`
	JSONSchema        resource.Object `json:"jsonSchema" doc:"Draft-07 or 2020-12, at most 64 KiB, 16 schemas deep, 500 in all; references only to itself."`
	AdFormat          string          `json:"adFormat,omitempty" enum:"banner,sponsored_brand" default:"banner"`
	PreviewScreenshot string          `json:"previewScreenshot,omitempty" minLength:"1" maxLength:"2083" format:"uri"`
	PreviewURL        string          `json:"previewUrl,omitempty" minLength:"1" maxLength:"2083" format:"uri"`
}

// TemplatePatch changes the members that it contains.
type TemplatePatch struct {
	Name              *string                   `json:"name,omitempty" minLength:"1" maxLength:"50"`
	Description       *string                   `json:"description,omitempty" minLength:"1" maxLength:"100"`
	JSONSchema        resource.Object           `json:"jsonSchema,omitempty"`
	PreviewScreenshot resource.Optional[string] `json:"previewScreenshot,omitzero" minLength:"1" maxLength:"2083" format:"uri" doc:"Null removes it."`
	PreviewURL        resource.Optional[string] `json:"previewUrl,omitzero" minLength:"1" maxLength:"2083" format:"uri" doc:"Null removes it."`
}

// TemplateList is one page of templates.
type TemplateList struct {
	Templates []resource.Template `json:"jsonTemplates"`
	resource.Page
}

type (
	templateCreateInput struct{ Body TemplateBody }
	templatePatchInput  struct {
		ID   string `path:"json_template_id" format:"uuid"`
		Body TemplatePatch
	}
	oneTemplateInput struct {
		ID string `path:"json_template_id" format:"uuid"`
	}
	templateListInput struct {
		Limit           int    `query:"limit" minimum:"0" maximum:"100" default:"100"`
		NextPage        string `query:"next_page"`
		Search          string `query:"search" maxLength:"100" doc:"Only templates whose name or description contains this, case aside."`
		IncludeArchived bool   `query:"include_archived" default:"false"`
	}
	templateOutput     = resource.Output[resource.Template]
	templateListOutput struct{ Body TemplateList }
)

func (in *templateListInput) filter() func(*store.Template) bool {
	search := strings.ToLower(in.Search)
	return func(x *store.Template) bool {
		found := strings.Contains(strings.ToLower(x.Name), search) || strings.Contains(strings.ToLower(x.Description), search)
		return found && (in.IncludeArchived || !x.Archived)
	}
}

func boolText(b bool) string { return strconv.FormatBool(b) }

// checkTemplate checks what the kit does not check: the JSON Schema, if there is one, and the schemes of the URLs. They become links, and a
// javascript: link would run in the page that shows it.
func checkTemplate(schema resource.Object, screenshot, preview string) error {
	var found []resource.Violation
	if schema != nil {
		if err := jsonform.Check(schema); err != nil {
			found = append(found, resource.At("json_schema", err.Error(), "body", "jsonSchema"))
		}
	}
	for _, a := range []struct{ member, text string }{{"previewScreenshot", screenshot}, {"previewUrl", preview}} {
		if a.text != "" && !web(a.text) {
			found = append(found, resource.At("url_parsing", "must be an http or https URL", "body", a.member))
		}
	}
	if len(found) > 0 {
		return resource.Invalid(found...)
	}
	return nil
}

func web(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") // Parse converts the scheme to lower case.
}

func (b *TemplateBody) template() store.Template {
	x := store.Template{
		Name: b.Name, Description: b.Description, Schema: json.RawMessage(b.JSONSchema), AdFormat: b.AdFormat,
		PreviewScreenshot: b.PreviewScreenshot, PreviewURL: b.PreviewURL,
	}
	if x.AdFormat == "" {
		x.AdFormat = "banner"
	}
	return x
}

func (p *TemplatePatch) apply(x *store.Template) {
	if p.Name != nil {
		x.Name = *p.Name
	}
	if p.Description != nil {
		x.Description = *p.Description
	}
	if p.JSONSchema != nil {
		x.Schema = json.RawMessage(p.JSONSchema)
	}
	p.PreviewScreenshot.Apply(&x.PreviewScreenshot)
	p.PreviewURL.Apply(&x.PreviewURL)
}
