package resource_test

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// This file is the worked example of CONTRIBUTING.md, a plain resource: labels, which a marketplace gives to what it likes. As
// node/manage/label/label.go, without the suffixes of tests, it would be the whole resource.

const (
	labelBase = "/public/v1/label-service/labels"
	oneLabel  = labelBase + "/{label_id}"
	labelTag  = "Labels"
	labelsMax = 1_000 // BOUND: labels of a marketplace.
)

// storedLabel is a label as it is stored.
type storedLabel struct {
	store.Item
	Name  string // Unique without case.
	Color string
}

// RegisterLabels mounts the operations.
func RegisterLabels(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "createLabel", Method: http.MethodPost, Status: http.StatusCreated, Path: labelBase, Tag: labelTag, Doc: "Create a label.",
	}, createLabel)
	resource.Add(api, resource.Op{ID: "listLabels", Method: http.MethodGet, Path: labelBase, Tag: labelTag, Doc: "List the labels, newest first."}, listLabels)
	resource.Add(api, resource.Op{ID: "getLabel", Method: http.MethodGet, Path: oneLabel, Tag: labelTag, Doc: "Get a label."}, getLabel)
	resource.Add(api, resource.Op{ID: "patchLabel", Method: http.MethodPatch, Path: oneLabel, Tag: labelTag, Doc: "Change a label."}, patchLabel)
	resource.Add(api, resource.Op{
		ID: "deleteLabel", Method: http.MethodDelete, Status: http.StatusNoContent, Path: oneLabel, Tag: labelTag, Doc: "Delete a label.",
	}, removeLabel)
}

// LabelBody is a new label.
type LabelBody struct {
	Name  string `json:"name" minLength:"1" maxLength:"50" doc:"Unique, compared without case."`
	Color string `json:"color,omitempty" pattern:"^#[0-9a-f]{6}$" doc:"Default #000000."`
}

// LabelPatch changes the members that it contains.
type LabelPatch struct {
	Name  *string `json:"name,omitempty" minLength:"1" maxLength:"50"`
	Color *string `json:"color,omitempty" pattern:"^#[0-9a-f]{6}$"`
}

// Label is a label in answers.
type Label struct {
	ID        string        `json:"labelId" format:"uuid"`
	Name      string        `json:"name"`
	Color     string        `json:"color"`
	CreatedAt resource.Time `json:"createdAt"`
	UpdatedAt resource.Time `json:"updatedAt"`
}

// LabelList is one page of labels.
type LabelList struct {
	Labels []Label `json:"labels"`
	resource.Page
}

type (
	labelCreateInput struct{ Body LabelBody }
	labelPatchInput  struct {
		OneLabel
		Body LabelPatch
	}
	labelListInput struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	labelOutput     = resource.Output[Label]
	labelListOutput struct{ Body LabelList }
)

// OneLabel names a label.
type OneLabel struct {
	ID string `path:"label_id" format:"uuid"`
}

var labels = resource.Collection[storedLabel, Label]{
	Items: store.NewCollection("labels", labelsMax, func(x *storedLabel) string { return strings.ToLower(x.Name) }),
	Answer: func(_ context.Context, x *storedLabel) (Label, error) {
		return Label{x.ID.String(), x.Name, x.Color, resource.Time(x.CreatedMillis), resource.Time(x.UpdatedMillis)}, nil
	},
}

func createLabel(ctx context.Context, in *labelCreateInput) (*labelOutput, error) {
	x := storedLabel{Name: in.Body.Name, Color: in.Body.Color}
	if x.Color == "" {
		x.Color = "#000000"
	}
	return labels.Create(ctx, &x)
}

func listLabels(ctx context.Context, in *labelListInput) (*labelListOutput, error) {
	all, end, err := labels.List(ctx, resource.Query[storedLabel]{Operation: "listLabels", Limit: in.Limit, NextPage: in.NextPage})
	if err != nil {
		return nil, err
	}
	return &labelListOutput{LabelList{all, end}}, nil
}

func getLabel(ctx context.Context, in *OneLabel) (*labelOutput, error) { return labels.Get(ctx, in.ID) }

func patchLabel(ctx context.Context, in *labelPatchInput) (*labelOutput, error) {
	return labels.Change(ctx, in.ID, func(x *storedLabel) error {
		if in.Body.Name != nil {
			x.Name = *in.Body.Name
		}
		if in.Body.Color != nil {
			x.Color = *in.Body.Color
		}
		return nil
	})
}

func removeLabel(ctx context.Context, in *OneLabel) (*struct{}, error) {
	return labels.Delete(ctx, in.ID)
}
