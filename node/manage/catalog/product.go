package catalog

import (
	"context"
	"errors"
	"strconv"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// ProductsBody is the body of an upsert.
type ProductsBody struct {
	Products []ProductBody `json:"products" minItems:"1" maxItems:"500"`
}

// ProductPatchesBody is the body of a change.
type ProductPatchesBody struct {
	Products []ProductPatch `json:"products" minItems:"1" maxItems:"500"`
}

// ProductList is one page of products.
type ProductList struct {
	Response []Product `json:"response"`
	resource.Page
}

type (
	productsInput       struct{ Body ProductsBody }
	productPatchesInput struct{ Body ProductPatchesBody }
	productOutput       struct{ Body Product }
	productListOutput   struct{ Body ProductList }
	productListInput    struct {
		PageInput
		VendorID string `query:"vendor_id" minLength:"1" maxLength:"255" doc:"Only products of this vendor."`
	}
)

func (s service) putProducts(ctx context.Context, in *productsInput) (*resource.Done, error) {
	all := make([]model.Product, len(in.Body.Products))
	var found []resource.Violation
	for i := range in.Body.Products {
		b := &in.Body.Products[i]
		if len(b.Metadata) > metadataLen {
			found = append(found, metadataTooLong("products", i))
			continue
		}
		all[i] = b.product()
		found = append(found, tooMany(all[i].Attributes, all[i].Promotions, i)...)
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	return s.store(ctx, all)
}

func tooMany(attributes, promotions []string, i int) []resource.Violation {
	if len(attributes) <= attributesMax && len(promotions) <= attributesMax {
		return nil
	}
	return []resource.Violation{resource.At("too_long", "must have at most "+strconv.Itoa(attributesMax)+" values", "body", "products", i, "metadata")}
}

// store writes products with their times.
func (s service) store(ctx context.Context, all []model.Product) (*resource.Done, error) {
	st, now := resource.Tenant(ctx), s.now().UnixMilli()
	created, err := createdTimes(each(all, func(p model.Product) string { return p.ID }),
		func(p store.Page, ids []string) ([]model.Product, bool, error) { return st.Products(ctx, p, ids, "") },
		func(p *model.Product) (string, int64) { return p.ID, p.CreatedMillis })
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].CreatedMillis, all[i].UpdatedMillis = timestamps(created, all[i].ID, now)
	}
	return done(st.PutProducts(ctx, all))
}

func metadataTooLong(list string, i int) resource.Violation {
	return resource.At("too_long", "must have at most 8 KiB", "body", list, i, "metadata")
}

// patchProducts changes members of products. Each member is changed when the command is applied, so that two changes
// of different members at the same moment both take effect, on whatever nodes.
func patchProducts(ctx context.Context, in *productPatchesInput) (*resource.Done, error) {
	st := resource.Tenant(ctx)
	all := make([]command.ProductPatch, len(in.Body.Products))
	var found []resource.Violation
	for i := range in.Body.Products {
		patch := &in.Body.Products[i]
		_, err := st.Product(ctx, patch.ID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			found = append(found, unknownProduct(i))
		case err != nil:
			return nil, resource.ErrorOf(err)
		case len(patch.Metadata.Value) > metadataLen:
			found = append(found, metadataTooLong("products", i))
		default:
			all[i] = patch.command()
			found = append(found, tooMany(given(all[i].Attributes), given(all[i].Promotions), i)...)
		}
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	err := st.PatchProducts(ctx, all)
	if r, ok := errors.AsType[*store.ItemError](err); ok && errors.Is(err, store.ErrNotFound) { // It was deleted in between.
		return nil, resource.Invalid(unknownProduct(r.Index))
	}
	return done(err)
}

func unknownProduct(i int) resource.Violation {
	return resource.At("resource_not_found", "is unknown", "body", "products", i, "id")
}

func given(list *[]string) []string {
	if list == nil {
		return nil
	}
	return *list
}

func getProduct(ctx context.Context, in *itemInput) (*productOutput, error) {
	p, err := resource.Tenant(ctx).Product(ctx, in.ID)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &productOutput{answerOf(p)}, nil
}

func listProducts(ctx context.Context, in *productListInput) (*productListOutput, error) {
	s := resource.Tenant(ctx)
	if in.VendorID != "" {
		if _, err := s.Vendor(ctx, in.VendorID); err != nil {
			return nil, resource.VendorErrorOf(err)
		}
	}
	all, end, err := page(ctx, &in.PageInput, "listProducts", in.VendorID,
		func(p model.Product) string { return p.ID },
		func(p store.Page) ([]model.Product, bool, error) { return s.Products(ctx, p, in.IDs, in.VendorID) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &productListOutput{ProductList{each(all, answerOf), end}}, nil
}

func each[A, B any](from []A, f func(A) B) []B {
	to := make([]B, len(from))
	for i := range from {
		to[i] = f(from[i])
	}
	return to
}

func deleteProducts(ctx context.Context, in *deleteInput) (*resource.Done, error) {
	ids, err := in.ids()
	if err != nil {
		return nil, err
	}
	return done(resource.Tenant(ctx).DeleteProducts(ctx, ids))
}
