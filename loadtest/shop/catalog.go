package shop

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
)

// Vendor is a seller in the catalog. Its first upsert creates its wallet.
type Vendor struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Category is a node of the catalog's tree.
type Category struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Product is a catalog item. Price is in major units, "12.50".
type Product struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Vendors    []string    `json:"vendors"`
	Categories []string    `json:"categories"`
	Price      json.Number `json:"price,omitempty"`
	// Metadata says what the product is, such as a hotel and the site that sells it.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// perUpsert is how many items one catalog PUT may have.
const perUpsert = 500

const catalogs = "/catalog-search-service/catalogs"

// PutVendors adds or replaces vendors.
func (c *Client) PutVendors(ctx context.Context, vendors []Vendor) error {
	return upsert(ctx, c, "vendors", vendors)
}

// PutCategories adds or replaces categories.
func (c *Client) PutCategories(ctx context.Context, categories []Category) error {
	return upsert(ctx, c, "categories", categories)
}

// PutProducts adds or replaces products.
func (c *Client) PutProducts(ctx context.Context, products []Product) error {
	return upsert(ctx, c, "products", products)
}

func upsert[T any](ctx context.Context, c *Client, name string, items []T) error {
	for part := range slices.Chunk(items, perUpsert) {
		if err := c.call(ctx, http.MethodPut, catalogs+"/"+name, nil, "", map[string][]T{name: part}, nil); err != nil {
			return err
		}
	}
	return nil
}
