package catalog

import (
	"encoding/json"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/document"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// metadataLen is the most bytes of a metadata object. BOUND: the interface's.
const metadataLen = 8 << 10

// Brand is the brand of a product.
type Brand struct {
	ID   string `json:"id" minLength:"1" maxLength:"255"`
	Name string `json:"name,omitempty" maxLength:"255"`
}

// ProductBody is a product as the marketplace sends it. It is stored as a document, next to the members that auctions read.
type ProductBody struct {
	ID           string            `json:"id" minLength:"1" maxLength:"255"`
	Name         string            `json:"name" minLength:"1" maxLength:"255"`
	Vendors      []string          `json:"vendors" minItems:"1" maxItems:"100" minLength:"1" maxLength:"255" doc:"Ids of the vendors that sell it. Unknown ids are stored, and count as soon as the vendor exists."`
	Categories   []string          `json:"categories" maxItems:"50" minLength:"1" maxLength:"255"`
	Description  *string           `json:"description,omitempty" maxLength:"5000"`
	Brand        *Brand            `json:"brand,omitempty"`
	ImageURL     *string           `json:"imageURL,omitempty" maxLength:"2083"`
	Price        *resource.Decimal `json:"price,omitempty" minimum:"0" maximum:"1000000000000" doc:"Major units."`
	Active       *bool             `json:"active,omitempty" doc:"Default true; false takes the product out of every auction."`
	EAN          *string           `json:"ean,omitempty" pattern:"^[0-9]{1,14}$"`
	QualityScore *resource.Decimal `json:"quality_score,omitempty" minimum:"0" maximum:"1"`
	Metadata     resource.Object   `json:"metadata,omitempty" doc:"At most 8 KiB. Filters of auctions are compared with it."`
	GlobalID     *string           `json:"globalId,omitempty" maxLength:"255"`
}

// Product is a product in answers.
type Product struct {
	ProductBody
	CreatedAt resource.Time `json:"createdAt"`
	UpdatedAt resource.Time `json:"updatedAt"`
}

// ProductPatch changes the members that it contains, of the product with its id. A null removes a member that a product may be
// without.
type ProductPatch struct {
	ID           string                              `json:"id" minLength:"1" maxLength:"255"`
	Name         *string                             `json:"name,omitempty" minLength:"1" maxLength:"255"`
	Vendors      []string                            `json:"vendors,omitempty" minItems:"1" maxItems:"100" minLength:"1" maxLength:"255"`
	Categories   []string                            `json:"categories,omitempty" maxItems:"50" minLength:"1" maxLength:"255"`
	Description  resource.Optional[string]           `json:"description,omitzero" maxLength:"5000" doc:"Null: none."`
	Brand        resource.Optional[Brand]            `json:"brand,omitzero" doc:"Null: none."`
	ImageURL     resource.Optional[string]           `json:"imageURL,omitzero" maxLength:"2083" doc:"Null: none."`
	Price        resource.Optional[resource.Decimal] `json:"price,omitzero" minimum:"0" maximum:"1000000000000" doc:"Major units. Null: unknown."`
	Active       *bool                               `json:"active,omitempty"`
	EAN          resource.Optional[string]           `json:"ean,omitzero" pattern:"^[0-9]{1,14}$" doc:"Null: none."`
	QualityScore resource.Optional[resource.Decimal] `json:"quality_score,omitzero" minimum:"0" maximum:"1" doc:"Null: none, which counts as 1."`
	Metadata     resource.Optional[resource.Object]  `json:"metadata,omitzero" doc:"At most 8 KiB. Null: none."`
	GlobalID     resource.Optional[string]           `json:"globalId,omitzero" maxLength:"255" doc:"Null: none."`
}

// command converts the change to a command. The values are those that a whole product with these members would have, and the
// members of its document are written as product writes them.
func (p *ProductPatch) command() command.ProductPatch {
	whole := ProductBody{
		Active: p.Active, Price: p.Price.Pointer(), QualityScore: p.QualityScore.Pointer(), Brand: p.Brand.Pointer(), Metadata: p.Metadata.Value,
	}
	x := whole.product()
	c := command.ProductPatch{ID: p.ID, Name: p.Name, Active: p.Active}
	if p.Vendors != nil {
		c.Vendors = &p.Vendors
	}
	if p.Categories != nil {
		c.Categories = &p.Categories
	}
	if p.Brand.Set {
		c.Brand = &x.Brand
	}
	if p.Price.Set {
		c.Price = &x.Price
	}
	if p.QualityScore.Set {
		c.Quality = &x.Quality
	}
	if p.Metadata.Set {
		c.Attributes, c.Promotions = &x.Attributes, &x.Promotions
	}
	writeOptional(&c, "metadata", &p.Metadata)
	write(&c, "name", p.Name)
	write(&c, "vendors", c.Vendors)
	write(&c, "categories", c.Categories)
	writeOptional(&c, "description", &p.Description)
	writeOptional(&c, "brand", &p.Brand)
	writeOptional(&c, "imageURL", &p.ImageURL)
	if whole.Price != nil {
		p.Price.Value = *whole.Price // As auctions use it.
	}
	writeOptional(&c, "price", &p.Price)
	write(&c, "active", p.Active)
	writeOptional(&c, "ean", &p.EAN)
	writeOptional(&c, "quality_score", &p.QualityScore)
	writeOptional(&c, "globalId", &p.GlobalID)
	return c
}

// writeOptional adds a member of the document to a change, unless it is absent. A null in the document is a product without
// the member.
func writeOptional[T any](c *command.ProductPatch, name string, value *resource.Optional[T]) {
	if value.Set && value.Null {
		c.Document = append(c.Document, document.Member{Name: name, Value: []byte("null")})
	}
	write(c, name, value.Pointer())
}

// write adds a member of the document to a change, unless the value is nil.
func write[T any](c *command.ProductPatch, name string, value *T) {
	if value != nil {
		c.Document = append(c.Document, document.Member{Name: name, Value: mustMarshal(value)})
	}
}

// product converts the body to the stored product: the body as a document, and the members that auctions read.
func (b *ProductBody) product() model.Product {
	if b.Active == nil {
		b.Active = new(true)
	}
	var price money.Micros
	if b.Price != nil {
		micros, err := b.Price.Micros()
		price = must(micros, err)
		// Answers contain the price that auctions use: rounded to micros, without an exponent.
		b.Price = &resource.Decimal{Text: string(money.AppendDecimal(nil, price))}
	}
	p := model.Product{
		ID: b.ID, Name: b.Name, Vendors: b.Vendors, Categories: b.Categories,
		Price: price, Active: *b.Active, Quality: model.QualityOne, Document: mustMarshal(b),
	}
	if b.QualityScore != nil {
		const qualityBits = 30 // model.QualityOne is 1 << 30.
		quality, err := money.ParseFraction(b.QualityScore.Text, qualityBits)
		p.Quality = must(quality, err)
	}
	if b.Brand != nil {
		p.Brand = b.Brand.ID
	}
	p.Attributes, p.Promotions = attributesOf(b.Metadata)
	return p
}

// must panics on an error, which the schema has excluded.
func must[T any](v T, err error) T {
	if err != nil {
		panic("the schema has checked this value: " + err.Error())
	}
	return v
}

func mustMarshal(v any) []byte { return must(json.Marshal(v)) }

// bodyOf reads the document. A product that was not created through this API, such as those of the demo, has none.
func bodyOf(p *model.Product) ProductBody {
	b := ProductBody{ID: p.ID, Name: p.Name, Vendors: p.Vendors, Categories: p.Categories, Active: new(p.Active)}
	if len(p.Document) == 0 || p.Price != 0 { // A patch of other members may have created a document without a price.
		b.Price = &resource.Decimal{Text: string(money.AppendDecimal(nil, p.Price))}
	}
	if len(p.Document) > 0 {
		if err := json.Unmarshal(p.Document, &b); err != nil {
			panic("stored product " + p.ID + " is not JSON: " + err.Error())
		}
		if string(b.Metadata) == "null" { // A change removed it.
			b.Metadata = nil
		}
	}
	if b.Vendors == nil {
		b.Vendors = []string{}
	}
	if b.Categories == nil {
		b.Categories = []string{}
	}
	return b
}

func answerOf(p model.Product) Product {
	return Product{bodyOf(&p), resource.Time(p.CreatedMillis), resource.Time(p.UpdatedMillis)}
}
