package model

import "github.com/gavel-ads/gavel/shard/money"

// Vendor is a seller. The ids of its account and default wallet follow from its id (ids.AccountOf,
// ids.DefaultWalletOf).
type Vendor struct {
	ID            string // 1 to 255 characters, the marketplace's own.
	Name          string
	Document      []byte // The other members as the management API stored them; opaque to the engine.
	CreatedMillis int64
	UpdatedMillis int64
}

// Category is a node of the category tree.
type Category struct {
	ID            string
	ParentID      string // Empty at a root.
	Name          string
	Document      []byte
	CreatedMillis int64
	UpdatedMillis int64
}

// Product is one catalog product.
type Product struct {
	ID            string
	Name          string
	Vendors       []string
	Categories    []string
	Brand         string // Brand id; empty: none.
	Active        bool
	Quality       uint32       // The product's quality_score, 0.0 to 1.0 in units of 1/QualityOne; QualityOne when absent.
	Price         money.Micros // Catalog price, 0 when absent.
	Attributes    []string     // Catalog metadata as sorted "key:value" strings, what a filter's attributes compare with.
	Promotions    []string     // metadata.promotions.
	Document      []byte       // The product as the management API stored it; opaque to the engine.
	CreatedMillis int64
	UpdatedMillis int64
}

// QualityOne is the quality score 1.0. Scores are fixed-point fractions of it.
const QualityOne = 1 << 30
