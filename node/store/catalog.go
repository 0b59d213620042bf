package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

func (t Tenant) putRecords(ctx context.Context, records []command.Record) error {
	_, err := t.proposeRecords(ctx, records)
	return err
}

// PutCategories adds or replaces categories, all or nothing. ErrCycle when a category would be its own ancestor; the *ItemError
// names the category.
func (t Tenant) PutCategories(ctx context.Context, c []model.Category) error {
	p := command.PutCategories{Marketplace: t.marketplace, Categories: c}
	_, err := t.propose(ctx, t.store.Groups.Meta(), command.AppendPutCategories(nil, t.now(), &p))
	return err
}

// PutProducts adds or replaces products, all or nothing. *Limit when the marketplace would have more than it may have.
func (t Tenant) PutProducts(ctx context.Context, products []model.Product) error {
	release, err := t.reserveProducts(products)
	if err != nil {
		return err
	}
	defer release()
	p := command.PutProducts{Marketplace: t.marketplace, Products: products}
	_, err = t.propose(ctx, t.store.Groups.Meta(), command.AppendPutProducts(nil, t.now(), &p))
	return err
}

// PatchProducts changes members of products, one after the other, all or nothing. Members that a patch does not name keep the
// values that they have when it is applied. ErrNotFound when a product does not exist; the *ItemError names the first.
func (t Tenant) PatchProducts(ctx context.Context, patches []command.ProductPatch) error {
	merges, err := t.supportsMerge(t.store.Groups.Meta())
	if err != nil {
		return err
	}
	if merges {
		p := command.PatchProducts{Marketplace: t.marketplace, Products: patches}
		_, err := t.propose(ctx, t.store.Groups.Meta(), command.AppendPatchProducts(nil, t.now(), &p))
		return err
	}
	changed := map[string]model.Product{}
	all := make([]model.Product, len(patches))
	for i := range patches {
		x, known := changed[patches[i].ID]
		if !known {
			if x, err = t.Product(ctx, patches[i].ID); err != nil {
				return &ItemError{Index: i, Err: err}
			}
		}
		if err := patches[i].Change(&x); err != nil {
			return err
		}
		x.UpdatedMillis = t.now()
		changed[x.ID], all[i] = x, x
	}
	return t.PutProducts(ctx, all)
}

// DeleteProducts removes products. Unknown ids are ignored. Bids on removed products lose every auction from then on.
func (t Tenant) DeleteProducts(ctx context.Context, ids []string) error {
	return t.deleteCatalog(ctx, &command.DeleteCatalog{Products: ids})
}

// DeleteCategories removes categories. Unknown ids are ignored.
func (t Tenant) DeleteCategories(ctx context.Context, ids []string) error {
	return t.deleteCatalog(ctx, &command.DeleteCatalog{Categories: ids})
}

func (t Tenant) deleteCatalog(ctx context.Context, x *command.DeleteCatalog) error {
	x.Marketplace = t.marketplace
	_, err := t.propose(ctx, t.store.Groups.Meta(), command.AppendDeleteCatalog(nil, t.now(), x))
	return err
}

// Vendor returns one vendor, or ErrNotFound.
func (t Tenant) Vendor(_ context.Context, id string) (model.Vendor, error) {
	value, err := t.record(command.RecordVendor, id)
	if err != nil {
		return model.Vendor{}, err
	}
	return vendorOf(id, value)
}

// Vendors lists vendors by id. If ids is not empty, it lists a page of those of them that exist.
func (t Tenant) Vendors(_ context.Context, p Page, ids []string) ([]model.Vendor, bool, error) {
	records, more, err := readList(t, p, ids,
		func(b shard.Queries, id string) (shard.StoredRecord, bool) {
			return b.Record(command.RecordVendor, t.marketplace, id)
		},
		func(b shard.Queries) ([]shard.StoredRecord, bool) {
			return b.Records(command.RecordVendor, t.marketplace, p.After, p.Limit)
		})
	if err != nil {
		return nil, false, err
	}
	vendors := make([]model.Vendor, len(records))
	for i, r := range records {
		if vendors[i], err = vendorOf(r.ID, r.Value); err != nil {
			return nil, false, err
		}
	}
	return vendors, more, nil
}

func vendorOf(id string, value []byte) (model.Vendor, error) {
	d := command.NewDecoder(value)
	var v model.Vendor
	d.Vendor(&v)
	if err := d.Err(); err != nil {
		return v, fmt.Errorf("vendor %s: %w", id, err)
	}
	return v, nil
}

// of returns the ids of a given set that belong to this page and the following ones: sorted, and after the page's start.
func (p Page) of(ids []string) []string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	at, found := slices.BinarySearch(ids, p.After)
	if found {
		at++
	}
	return ids[at:]
}

// Category returns one category, or ErrNotFound.
func (t Tenant) Category(_ context.Context, id string) (model.Category, error) {
	return readOne(t, t.store.Groups.Meta(), func(b shard.Queries) (model.Category, bool) {
		return b.Category(t.marketplace, id)
	})
}

// Categories lists categories by id. If ids is not empty, it lists a page of those of them that exist.
func (t Tenant) Categories(_ context.Context, p Page, ids []string) ([]model.Category, bool, error) {
	items, more, err := readList(t, p, ids,
		func(b shard.Queries, id string) (model.Category, bool) { return b.Category(t.marketplace, id) },
		func(b shard.Queries) ([]model.Category, bool) { return b.Categories(t.marketplace, p.After, p.Limit) })
	return items, more, err
}

// CountCategories counts the categories.
func (t Tenant) CountCategories(context.Context) (int, error) {
	return read(t, t.store.Groups.Meta(), func(b shard.Queries) int { return b.CategoryCount(t.marketplace) })
}

// Product returns one product, or ErrNotFound.
func (t Tenant) Product(_ context.Context, id string) (model.Product, error) {
	return readOne(t, t.store.Groups.Meta(), func(b shard.Queries) (model.Product, bool) {
		return b.Product(t.marketplace, id)
	})
}

// Products lists products by id: those of one vendor if vendorID is not empty, and a page of those in ids if ids is not empty.
func (t Tenant) Products(_ context.Context, p Page, ids []string, vendorID string) ([]model.Product, bool, error) {
	items, more, err := readList(t, p, ids,
		func(b shard.Queries, id string) (model.Product, bool) {
			x, ok := b.Product(t.marketplace, id)
			return x, ok && (vendorID == "" || slices.Contains(x.Vendors, vendorID))
		},
		func(b shard.Queries) ([]model.Product, bool) {
			if vendorID != "" {
				return b.ProductsOf(t.marketplace, vendorID, p.After, p.Limit)
			}
			return b.Products(t.marketplace, p.After, p.Limit)
		})
	return items, more, err
}
