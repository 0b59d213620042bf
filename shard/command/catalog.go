package command

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/document"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// PutCategories adds or replaces categories, all or nothing. It is refused as Cycle when a category would be its own
// ancestor.
type PutCategories struct {
	Marketplace uint16
	Categories  []model.Category
}

// PutProducts adds or replaces products, all or nothing.
type PutProducts struct {
	Marketplace uint16
	Products    []model.Product
}

// DeleteCatalog removes catalog items; unknown ids are ignored.
type DeleteCatalog struct {
	Marketplace uint16
	Products    []string
	Categories  []string
}

// PatchProducts changes members of products, in order and all or nothing. A product may occur several times. The
// command is refused as NotFound, with the index of the first product that does not exist.
type PatchProducts struct {
	Marketplace uint16
	Products    []ProductPatch
}

// ProductPatch changes members of a product. A nil member is not changed.
type ProductPatch struct {
	ID         string
	Name       *string
	Vendors    *[]string
	Categories *[]string
	Brand      *string
	Active     *bool
	Quality    *uint32
	Price      *money.Micros
	Attributes *[]string
	Promotions *[]string
	Document   []document.Member // Members of the product's document.
}

// These names keep the rows below short.
type (
	product       = model.Product
	productChange = ProductPatch
)

// products is the table of a product. A row made by patched is a member that ProductPatch can change.
var products = newTable("product",
	fixed("id", text, func(p *product) *string { return &p.ID }),
	fixed("created", millis, func(p *product) *int64 { return &p.CreatedMillis }),
	fixed("updated", millis, func(p *product) *int64 { return &p.UpdatedMillis }),
	patched(0, "name", text,
		func(p *product) *string { return &p.Name }, func(c *productChange) **string { return &c.Name }),
	patched(1, "vendors", texts,
		func(p *product) *[]string { return &p.Vendors }, func(c *productChange) **[]string { return &c.Vendors }),
	patched(2, "categories", texts,
		func(p *product) *[]string { return &p.Categories }, func(c *productChange) **[]string { return &c.Categories }),
	patched(3, "brand", text,
		func(p *product) *string { return &p.Brand }, func(c *productChange) **string { return &c.Brand }).optional(),
	patched(4, "active", boolean,
		func(p *product) *bool { return &p.Active }, func(c *productChange) **bool { return &c.Active }),
	patched(5, "quality", u32[uint32](),
		func(p *product) *uint32 { return &p.Quality }, func(c *productChange) **uint32 { return &c.Quality }),
	patched(6, "price", price,
		func(p *product) *money.Micros { return &p.Price }, func(c *productChange) **money.Micros { return &c.Price }),
	patched(7, "attributes", texts,
		func(p *product) *[]string { return &p.Attributes },
		func(c *productChange) **[]string { return &c.Attributes }).optional(),
	patched(8, "promotions", texts,
		func(p *product) *[]string { return &p.Promotions },
		func(c *productChange) **[]string { return &c.Promotions }).optional(),
	optional(9, "document", blob, func(p *product) *[]byte { return &p.Document }),
)

var categories = newTable("category",
	fixed("id", text, func(c *model.Category) *string { return &c.ID }),
	fixed("parent", text, func(c *model.Category) *string { return &c.ParentID }),
	fixed("name", text, func(c *model.Category) *string { return &c.Name }),
	fixed("document", blob, func(c *model.Category) *[]byte { return &c.Document }),
	fixed("created", millis, func(c *model.Category) *int64 { return &c.CreatedMillis }),
	fixed("updated", millis, func(c *model.Category) *int64 { return &c.UpdatedMillis }),
)

var vendors = newTable("vendor",
	fixed("id", text, func(v *model.Vendor) *string { return &v.ID }),
	fixed("name", text, func(v *model.Vendor) *string { return &v.Name }),
	fixed("document", blob, func(v *model.Vendor) *[]byte { return &v.Document }),
	fixed("created", millis, func(v *model.Vendor) *int64 { return &v.CreatedMillis }),
	fixed("updated", millis, func(v *model.Vendor) *int64 { return &v.UpdatedMillis }),
)

// AppendVendor appends v: the value of a RecordVendor.
func AppendVendor(dst []byte, v *model.Vendor) []byte { return vendors.append(dst, v) }

// Vendor reads what AppendVendor wrote into v. REQUIRES: *v is the zero value.
func (d *Decoder) Vendor(v *model.Vendor) { vendors.read(d, v) }

// AppendCategory appends c.
func AppendCategory(dst []byte, c *model.Category) []byte { return categories.append(dst, c) }

// Category reads what AppendCategory wrote into c. REQUIRES: *c is the zero value.
func (d *Decoder) Category(c *model.Category) { categories.read(d, c) }

// AppendProduct appends p.
func AppendProduct(dst []byte, p *model.Product) []byte { return products.append(dst, p) }

// Product reads what AppendProduct wrote into p. REQUIRES: *p is the zero value.
func (d *Decoder) Product(p *model.Product) { products.read(d, p) }

var (
	productPatches      = patchesOf[ProductPatch](products)
	productPatchEntries = newTable("product patch",
		fixed("id", text, func(p *productChange) *string { return &p.ID }),
		changes(productPatches),
		optional(0, "document", list(documentMembers, unbounded),
			func(p *productChange) *[]document.Member { return &p.Document }),
	).checked(func(p *productChange) bool { return differentNames(p.Document) })
)

var documentMembers = newTable("document member",
	fixed("name", text, func(m *document.Member) *string { return &m.Name }),
	fixed("value", blob, func(m *document.Member) *[]byte { return &m.Value }),
).checked(func(m *document.Member) bool { return len(m.Value) > 0 })

// differentNames reports whether all members have different names, which document.Merge requires.
func differentNames(all []document.Member) bool {
	for i := range all {
		if slices.ContainsFunc(all[:i], func(x document.Member) bool { return x.Name == all[i].Name }) {
			return false
		}
	}
	return true
}

// Change applies the changes to a product. It returns document.ErrMalformed, and leaves the product unchanged, when the
// product's document cannot be read.
func (p *ProductPatch) Change(x *model.Product) error {
	merged, err := document.Merge(x.Document, p.Document)
	if err != nil {
		return err
	}
	x.Document = merged
	productPatches.change(x, p)
	return nil
}

var (
	patchProducts = newTable("patch products",
		fixed("marketplace", u16[uint16](), func(p *PatchProducts) *uint16 { return &p.Marketplace }),
		fixed("products", list(productPatchEntries, unbounded),
			func(p *PatchProducts) *[]ProductPatch { return &p.Products }),
	)
	putProducts = newTable("put products",
		fixed("marketplace", u16[uint16](), func(p *PutProducts) *uint16 { return &p.Marketplace }),
		fixed("products", list(products, unbounded), func(p *PutProducts) *[]model.Product { return &p.Products }),
	)
	putCategories = newTable("put categories",
		fixed("marketplace", u16[uint16](), func(p *PutCategories) *uint16 { return &p.Marketplace }),
		fixed("categories", list(categories, unbounded),
			func(p *PutCategories) *[]model.Category { return &p.Categories }),
	)
	deleteCatalogs = newTable("delete catalog",
		fixed("marketplace", u16[uint16](), func(x *DeleteCatalog) *uint16 { return &x.Marketplace }),
		fixed("products", texts, func(x *DeleteCatalog) *[]string { return &x.Products }),
		fixed("categories", texts, func(x *DeleteCatalog) *[]string { return &x.Categories }),
	)
)

// AppendPatchProducts appends a PatchProducts.
func AppendPatchProducts(dst []byte, nowMillis int64, p *PatchProducts) []byte {
	return appendCommand(dst, OpPatchProducts, nowMillis, patchProducts, p)
}

// ReadPatchProducts reads a PatchProducts.
func ReadPatchProducts(c *Command) (PatchProducts, error) { return readCommand(c, patchProducts) }

// AppendPutProducts appends a PutProducts.
func AppendPutProducts(dst []byte, nowMillis int64, p *PutProducts) []byte {
	return appendCommand(dst, OpPutProducts, nowMillis, putProducts, p)
}

// ReadPutProducts reads a PutProducts.
func ReadPutProducts(c *Command) (PutProducts, error) { return readCommand(c, putProducts) }

// AppendPutCategories appends a PutCategories.
func AppendPutCategories(dst []byte, nowMillis int64, p *PutCategories) []byte {
	return appendCommand(dst, OpPutCategories, nowMillis, putCategories, p)
}

// ReadPutCategories reads a PutCategories.
func ReadPutCategories(c *Command) (PutCategories, error) { return readCommand(c, putCategories) }

// AppendDeleteCatalog appends a DeleteCatalog.
func AppendDeleteCatalog(dst []byte, nowMillis int64, x *DeleteCatalog) []byte {
	return appendCommand(dst, OpDeleteCatalog, nowMillis, deleteCatalogs, x)
}

// ReadDeleteCatalog reads a DeleteCatalog.
func ReadDeleteCatalog(c *Command) (DeleteCatalog, error) { return readCommand(c, deleteCatalogs) }
