// Package catalog serves the marketplace's products, vendors and categories.
//
// Limits: a product has at most 256 metadata values that filters can name.
package catalog

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	base = "/public/v1/catalog-search-service/catalogs"
	tag  = "Catalog"
)

// service holds what the operations need beside the caller's store.
type service struct{ now func() time.Time }

// Register mounts the catalog operations.
func Register(api huma.API, now func() time.Time) {
	s := service{now: now}
	add(api, "putProducts", http.MethodPut, "/products", "Add or replace products by id.", s.putProducts)
	add(api, "patchProducts", http.MethodPatch, "/products", "Change members of products.", patchProducts)
	add(api, "listProducts", http.MethodGet, "/products", "List products by id.", listProducts)
	add(api, "deleteProducts", http.MethodDelete, "/products", "Delete products; unknown ids are ignored.", deleteProducts)
	add(api, "getProduct", http.MethodGet, "/products/{id}", "Read a product.", getProduct)

	add(api, "putVendors", http.MethodPut, "/vendors", "Add or replace vendors; a first upsert opens the vendor's account.", s.putVendors)
	add(api, "listVendors", http.MethodGet, "/vendors", "List vendors by id.", listVendors)
	add(api, "deleteVendors", http.MethodDelete, "/vendors", "Delete vendors; their wallets and campaigns stay.", deleteVendors)
	add(api, "getVendor", http.MethodGet, "/vendors/{id}", "Read a vendor.", getVendor)

	add(api, "putCategories", http.MethodPut, "/categories", "Add or replace categories.", s.putCategories)
	add(api, "listCategories", http.MethodGet, "/categories", "List categories by id.", listCategories)
	add(api, "deleteCategories", http.MethodDelete, "/categories", "Delete categories; unknown ids are ignored.", deleteCategories)
	add(api, "countCategories", http.MethodGet, "/categories/count", "Count the categories.", countCategories)
	add(api, "getCategory", http.MethodGet, "/categories/{id}", "Read a category.", getCategory)
}

func add[I, O any](api huma.API, id, method, path, doc string, serve func(context.Context, *I) (*O, error)) {
	resource.Add(api, resource.Op{ID: id, Method: method, Path: base + path, Tag: tag, Doc: doc}, serve)
}

// page fetches one page of a list. Items that are named by id are few enough to be read at once; the page is taken from those that
// exist, so unknown ids leave no gaps.
func page[T any](
	ctx context.Context, in *PageInput, operation string, filter string, id func(T) string,
	fetch func(store.Page) ([]T, bool, error),
) ([]T, resource.Page, error) {
	if len(in.IDs) > 0 {
		all, _, err := fetch(store.Page{Limit: len(in.IDs)})
		if err != nil {
			return nil, resource.Page{}, err
		}
		fetch = resource.Sorted(all, id)
	}
	cursors := resource.CursorsFor(ctx, resource.Tenant(ctx).CursorKey(), operation, append([]string{filter}, in.IDs...)...)
	return resource.List(cursors, in.NextPage, in.Limit, id, fetch)
}

// createdTimes returns the creation times, in Unix milliseconds, of the items that exist already. An upsert keeps them.
func createdTimes[T any](
	ids []string, fetch func(store.Page, []string) ([]T, bool, error), of func(*T) (id string, createdMillis int64),
) (map[string]int64, error) {
	known, _, err := fetch(store.Page{Limit: len(ids)}, ids)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	created := make(map[string]int64, len(known))
	for i := range known {
		id, millis := of(&known[i])
		created[id] = millis
	}
	return created, nil
}

// timestamps are the creation and update times of an item that is written now.
func timestamps(created map[string]int64, id string, nowMillis int64) (createdMillis, updatedMillis int64) {
	if at, ok := created[id]; ok {
		return at, nowMillis
	}
	return nowMillis, nowMillis
}

// itemInput names one item.
type itemInput struct {
	ID string `path:"id" minLength:"1" maxLength:"255"`
}

// PageInput is the paging of the three lists.
type PageInput struct {
	IDs      []string `query:"ids,explode" maxItems:"500" minLength:"1" maxLength:"255" doc:"Only these ids; repeat the parameter."`
	Limit    int      `query:"limit" minimum:"1" maximum:"100" default:"100"`
	NextPage string   `query:"next_page" doc:"Cursor of the previous page."`
}

// deleteInput takes the ids from the body, or from repeated query parameters.
type deleteInput struct {
	IDs  []string    `query:"ids,explode" maxItems:"500" minLength:"1" maxLength:"255"`
	Body *DeleteBody `required:"false"`
}

// DeleteBody names items.
type DeleteBody struct {
	IDs []string `json:"ids" minItems:"1" maxItems:"500" minLength:"1" maxLength:"255"`
}

func (in *deleteInput) ids() ([]string, error) {
	ids := in.IDs
	if in.Body != nil {
		ids = append(ids, in.Body.IDs...)
	}
	if len(ids) == 0 {
		return nil, resource.Invalid(resource.At("missing", "required", "body", "ids"))
	}
	return ids, nil
}

func done(err error) (*resource.Done, error) {
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &resource.Done{}, nil
}
