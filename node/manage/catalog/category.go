package catalog

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// CategoryBody is a category as the marketplace sends it.
type CategoryBody struct {
	ID       string          `json:"id" minLength:"1" maxLength:"255"`
	Name     string          `json:"name" minLength:"1" maxLength:"255"`
	ParentID string          `json:"parentId,omitempty" maxLength:"255" doc:"The parent category. A category cannot be its own ancestor."`
	GlobalID *string         `json:"globalId,omitempty" maxLength:"255"`
	Metadata resource.Object `json:"metadata,omitempty" doc:"At most 8 KiB."`
}

// Category is a category in answers.
type Category struct {
	CategoryBody
	CreatedAt resource.Time `json:"createdAt"`
	UpdatedAt resource.Time `json:"updatedAt"`
}

// CategoriesBody is the body of an upsert.
type CategoriesBody struct {
	Categories []CategoryBody `json:"categories" minItems:"1" maxItems:"500"`
}

// CategoryList is one page of categories.
type CategoryList struct {
	Response []Category `json:"response"`
	resource.Page
}

type (
	categoriesInput    struct{ Body CategoriesBody }
	categoryOutput     struct{ Body Category }
	categoryListOutput struct{ Body CategoryList }
	countOutput        struct{ Body int }
	nothing            struct{}
)

func (s service) putCategories(ctx context.Context, in *categoriesInput) (*resource.Done, error) {
	all := make([]model.Category, len(in.Body.Categories))
	var found []resource.Violation
	for i := range in.Body.Categories {
		b := &in.Body.Categories[i]
		if len(b.Metadata) > metadataLen {
			found = append(found, metadataTooLong("categories", i))
			continue
		}
		all[i] = model.Category{ID: b.ID, ParentID: b.ParentID, Name: b.Name, Document: mustMarshal(b)}
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	st, now := resource.Tenant(ctx), s.now().UnixMilli()
	created, err := createdTimes(each(all, func(c model.Category) string { return c.ID }),
		func(p store.Page, ids []string) ([]model.Category, bool, error) { return st.Categories(ctx, p, ids) },
		func(c *model.Category) (string, int64) { return c.ID, c.CreatedMillis })
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].CreatedMillis, all[i].UpdatedMillis = timestamps(created, all[i].ID, now)
	}
	err = st.PutCategories(ctx, all)
	if refused, ok := errors.AsType[*store.ItemError](err); ok {
		message := "would put the category above itself"
		if errors.Is(err, store.ErrTooMany) {
			message = "would put the category deeper than 64 levels"
		}
		err = resource.Invalid(resource.At("value_error", message, "body", "categories", refused.Index, "parentId"))
	}
	return done(err)
}

func categoryAnswer(c model.Category) Category {
	b := CategoryBody{ID: c.ID, Name: c.Name, ParentID: c.ParentID}
	if len(c.Document) > 0 {
		if err := json.Unmarshal(c.Document, &b); err != nil {
			panic("stored category " + c.ID + " is not JSON: " + err.Error())
		}
	}
	return Category{b, resource.Time(c.CreatedMillis), resource.Time(c.UpdatedMillis)}
}

func getCategory(ctx context.Context, in *itemInput) (*categoryOutput, error) {
	c, err := resource.Tenant(ctx).Category(ctx, in.ID)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &categoryOutput{categoryAnswer(c)}, nil
}

func listCategories(ctx context.Context, in *PageInput) (*categoryListOutput, error) {
	s := resource.Tenant(ctx)
	all, end, err := page(ctx, in, "listCategories", "",
		func(c model.Category) string { return c.ID },
		func(p store.Page) ([]model.Category, bool, error) { return s.Categories(ctx, p, in.IDs) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &categoryListOutput{CategoryList{each(all, categoryAnswer), end}}, nil
}

func deleteCategories(ctx context.Context, in *deleteInput) (*resource.Done, error) {
	ids, err := in.ids()
	if err != nil {
		return nil, err
	}
	return done(resource.Tenant(ctx).DeleteCategories(ctx, ids))
}

func countCategories(ctx context.Context, _ *nothing) (*countOutput, error) {
	n, err := resource.Tenant(ctx).CountCategories(ctx)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &countOutput{n}, nil
}
