package creative

import (
	"context"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// TemplateVersion is a version of a template: what it contained, and who made it.
type TemplateVersion struct {
	Version           int             `json:"version" doc:"From 1; it grows by one with every change."`
	ChangedAt         resource.Time   `json:"changedAt"`
	KeyID             string          `json:"keyId,omitempty" doc:"The API key that made the version."`
	UserID            string          `json:"userId,omitempty" doc:"The user of the console who made the version."`
	UserEmail         string          `json:"userEmail,omitempty" doc:"The address of that user at the time."`
	Name              string          `json:"name"`
	Description       string          `json:"description"`
	JSONSchema        resource.Object `json:"jsonSchema"`
	IsArchived        bool            `json:"isArchived"`
	PreviewScreenshot string          `json:"previewScreenshot,omitempty"`
	PreviewURL        string          `json:"previewUrl,omitempty"`
}

// TemplateVersionList is all versions of a template that are kept.
type TemplateVersionList struct {
	Versions []TemplateVersion `json:"versions" maxItems:"20" doc:"Newest first; the first is the present one."`
}

type (
	versionListOutput = resource.Output[TemplateVersionList]
	restoreInput      struct {
		ID      string `path:"json_template_id" format:"uuid"`
		Version int    `path:"version" minimum:"1" maximum:"2147483647"`
	}
)

func listVersions(ctx context.Context, in *oneTemplateInput) (*versionListOutput, error) {
	all, err := resource.Tenant(ctx).TemplateVersions(resource.ParseUUID(in.ID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	out := &versionListOutput{}
	for i := range all {
		out.Body.Versions = append(out.Body.Versions, versionOf(&all[i]))
	}
	return out, nil
}

func versionOf(x *store.Template) TemplateVersion {
	return TemplateVersion{
		Version: x.Version, ChangedAt: resource.Time(x.UpdatedMillis),
		KeyID: x.By.KeyID, UserID: x.By.UserID, UserEmail: x.By.UserEmail,
		Name: x.Name, Description: x.Description, JSONSchema: resource.Object(x.Schema), IsArchived: x.Archived,
		PreviewScreenshot: x.PreviewScreenshot, PreviewURL: x.PreviewURL,
	}
}

// restoreVersion applies the rules of a change, which may have become stricter since the version was made.
func restoreVersion(ctx context.Context, in *restoreInput) (*templateOutput, error) {
	x, err := resource.Tenant(ctx).RestoreTemplate(ctx, resource.ParseUUID(in.ID), in.Version, func(old *store.Template) error {
		return checkTemplate(resource.Object(old.Schema), old.PreviewScreenshot, old.PreviewURL)
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	answer, err := templates.Answer(ctx, &x)
	if err != nil {
		return nil, err
	}
	return &templateOutput{Body: answer}, nil
}
