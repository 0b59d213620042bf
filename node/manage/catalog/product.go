package catalog

import (
	"context"
	"errors"
	"strconv"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/market"
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
	all := make([]market.Product, len(in.Body.Products))
	var found []resource.Violation
	for i := range in.Body.Products {
		b := &in.Body.Products[i]
		if len(b.Metadata) > metadataLen {
			found = append(found, metadataTooLong("products", i))
			continue
		}
		all[i] = b.product()
		found = append(found, tooMany(&all[i], i)...)
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	s.products.RLock()
	defer s.products.RUnlock()
	return s.store(ctx, all)
}

func tooMany(p *market.Product, i int) []resource.Violation {
	if len(p.Attributes) <= attributesMax && len(p.Promotions) <= attributesMax {
		return nil
	}
	return []resource.Violation{resource.At("too_long", "must have at most "+strconv.Itoa(attributesMax)+" values", "body", "products", i, "metadata")}
}

// store writes products with their times.
func (s service) store(ctx context.Context, all []market.Product) (*resource.Done, error) {
	st, now := storeOf(ctx), s.now().UnixMilli()
	created, err := born(each(all, func(p market.Product) string { return p.ID }),
		func(p store.Page, ids []string) ([]market.Product, bool, error) { return st.Products(ctx, p, ids, "") },
		func(p *market.Product) (string, int64) { return p.ID, p.CreatedMillis })
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].CreatedMillis, all[i].UpdatedMillis = times(created, all[i].ID, now)
	}
	return done(st.PutProducts(ctx, all))
}

func metadataTooLong(list string, i int) resource.Violation {
	return resource.At("too_long", "must have at most 8 KiB", "body", list, i, "metadata")
}

func (s service) patchProducts(ctx context.Context, in *productPatchesInput) (*resource.Done, error) {
	st := storeOf(ctx)
	s.products.Lock()
	defer s.products.Unlock()
	changed := map[string]ProductBody{} // A product may come twice; the second change builds on the first.
	all := make([]market.Product, len(in.Body.Products))
	var found []resource.Violation
	for i := range in.Body.Products {
		patch := &in.Body.Products[i]
		b, ok := changed[patch.ID]
		if !ok {
			p, err := st.Product(ctx, patch.ID)
			if errors.Is(err, store.ErrNotFound) {
				found = append(found, resource.At("resource_not_found", "is unknown", "body", "products", i, "id"))
				continue
			}
			if err != nil {
				return nil, resource.Of(err)
			}
			b = bodyOf(&p)
		}
		if len(patch.Metadata) > metadataLen {
			found = append(found, metadataTooLong("products", i))
			continue
		}
		patch.apply(&b)
		changed[patch.ID] = b
		all[i] = b.product()
		found = append(found, tooMany(&all[i], i)...)
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	return s.store(ctx, all)
}

func getProduct(ctx context.Context, in *itemInput) (*productOutput, error) {
	p, err := storeOf(ctx).Product(ctx, in.ID)
	if err != nil {
		return nil, resource.Of(err)
	}
	return &productOutput{answerOf(p)}, nil
}

func listProducts(ctx context.Context, in *productListInput) (*productListOutput, error) {
	s := storeOf(ctx)
	if in.VendorID != "" {
		if _, err := s.Vendor(ctx, in.VendorID); err != nil {
			return nil, resource.OfVendor(err)
		}
	}
	all, end, err := page(ctx, &in.PageInput, "listProducts", in.VendorID,
		func(p market.Product) string { return p.ID },
		func(p store.Page) ([]market.Product, bool, error) { return s.Products(ctx, p, in.IDs, in.VendorID) })
	if err != nil {
		return nil, resource.Of(err)
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

func (s service) deleteProducts(ctx context.Context, in *deleteInput) (*resource.Done, error) {
	ids, err := in.ids()
	if err != nil {
		return nil, err
	}
	s.products.RLock()
	defer s.products.RUnlock()
	return done(storeOf(ctx).DeleteProducts(ctx, ids))
}
