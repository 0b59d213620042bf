package command

import (
	"encoding/binary"
	"slices"

	"github.com/gavel-ads/gavel/shard/document"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// PatchBid changes members of a bid that is not deleted. A nil member is not changed.
type PatchBid struct {
	Campaign    ids.UUID
	Marketplace uint16
	Bid         ids.UUID
	Amount      *money.Micros
	Active      *bool
	Location    *string
	Triggers    *[]market.Trigger
	Delete      bool
}

// Change applies the changes to a bid.
func (p *PatchBid) Change(b *market.Bid) {
	assign(&b.Amount, p.Amount)
	assign(&b.Active, p.Active)
	assign(&b.Location, p.Location)
	assign(&b.Triggers, p.Triggers)
	b.Deleted = b.Deleted || p.Delete
}

func assign[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}

// These bits name the members of a PatchBid. Append only.
const (
	bidPatchAmount = 1 << iota
	bidPatchActive
	bidPatchLocation
	bidPatchTriggers
	bidPatchDelete
	bidPatchMembers
)

// AppendPatchBid appends a PatchBid. REQUIRES: it changes something.
func AppendPatchBid(dst []byte, nowMillis int64, p *PatchBid) []byte {
	dst, at := begin(dst, OpPatchBid, nowMillis, 0)
	dst = append(dst, p.Campaign[:]...)
	dst = binary.LittleEndian.AppendUint16(dst, p.Marketplace)
	dst = append(dst, p.Bid[:]...)
	dst = binary.LittleEndian.AppendUint16(dst, maskOf(p.Amount != nil, p.Active != nil, p.Location != nil, p.Triggers != nil, p.Delete))
	if p.Amount != nil {
		dst = AppendMoney(dst, *p.Amount)
	}
	if p.Active != nil {
		dst = AppendBool(dst, *p.Active)
	}
	if p.Location != nil {
		dst = AppendText(dst, *p.Location)
	}
	if p.Triggers != nil {
		dst = appendTriggers(dst, *p.Triggers)
	}
	return seal(dst, at)
}

// ReadPatchBid reads a PatchBid.
func ReadPatchBid(c *Command) (p PatchBid, err error) {
	d := NewDecoder(c.body)
	p.Campaign, p.Marketplace, p.Bid = d.UUID(), d.U16(), d.UUID()
	mask := d.mask(bidPatchMembers)
	if mask&bidPatchAmount != 0 {
		p.Amount = new(d.Price())
	}
	if mask&bidPatchActive != 0 {
		p.Active = new(d.Bool())
	}
	if mask&bidPatchLocation != 0 {
		p.Location = new(d.Text())
	}
	if mask&bidPatchTriggers != 0 {
		p.Triggers = new(d.triggers(uint8(market.TriggerKinds)))
	}
	p.Delete = mask&bidPatchDelete != 0
	return p, d.Err()
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

// Change applies the changes to a product. It returns document.ErrMalformed, and leaves the product unchanged, when the
// product's document cannot be read.
func (p *ProductPatch) Change(x *market.Product) error {
	merged, err := document.Merge(x.Document, p.Document)
	if err != nil {
		return err
	}
	x.Document = merged
	assign(&x.Name, p.Name)
	assign(&x.Vendors, p.Vendors)
	assign(&x.Categories, p.Categories)
	assign(&x.Brand, p.Brand)
	assign(&x.Active, p.Active)
	assign(&x.Quality, p.Quality)
	assign(&x.Price, p.Price)
	assign(&x.Attributes, p.Attributes)
	assign(&x.Promotions, p.Promotions)
	return nil
}

// These bits name the members of a ProductPatch. Append only.
const (
	productPatchName = 1 << iota
	productPatchVendors
	productPatchCategories
	productPatchBrand
	productPatchActive
	productPatchQuality
	productPatchPrice
	productPatchAttributes
	productPatchPromotions
	productPatchMembers
)

// productPatchMinLen is the shortest encoding of a ProductPatch: id, mask and number of document members.
const productPatchMinLen = 4

// AppendPatchProducts appends a PatchProducts.
func AppendPatchProducts(dst []byte, nowMillis int64, p *PatchProducts) []byte {
	dst, at := begin(dst, OpPatchProducts, nowMillis, len(p.Products))
	dst = binary.LittleEndian.AppendUint16(dst, p.Marketplace)
	for i := range p.Products {
		dst = appendProductPatch(dst, &p.Products[i])
	}
	return seal(dst, at)
}

func appendProductPatch(dst []byte, p *ProductPatch) []byte {
	dst = AppendText(dst, p.ID)
	dst = binary.LittleEndian.AppendUint16(dst, maskOf(
		p.Name != nil, p.Vendors != nil, p.Categories != nil, p.Brand != nil, p.Active != nil, p.Quality != nil, p.Price != nil,
		p.Attributes != nil, p.Promotions != nil,
	))
	if p.Name != nil {
		dst = AppendText(dst, *p.Name)
	}
	for _, list := range []*[]string{p.Vendors, p.Categories} {
		if list != nil {
			dst = appendTexts(dst, *list)
		}
	}
	if p.Brand != nil {
		dst = AppendText(dst, *p.Brand)
	}
	if p.Active != nil {
		dst = AppendBool(dst, *p.Active)
	}
	if p.Quality != nil {
		dst = binary.LittleEndian.AppendUint32(dst, *p.Quality)
	}
	if p.Price != nil {
		dst = AppendMoney(dst, *p.Price)
	}
	for _, list := range []*[]string{p.Attributes, p.Promotions} {
		if list != nil {
			dst = appendTexts(dst, *list)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.Document)))
	for _, member := range p.Document {
		dst = AppendBytes(AppendText(dst, member.Name), member.Value)
	}
	return dst
}

// ReadPatchProducts reads a PatchProducts.
func ReadPatchProducts(c *Command) (p PatchProducts, err error) {
	d := NewDecoder(c.body)
	p.Marketplace = d.U16()
	for range c.list(&d, productPatchMinLen) {
		p.Products = append(p.Products, d.productPatch())
	}
	return p, d.Err()
}

func (d *Decoder) productPatch() (p ProductPatch) {
	p.ID = d.Text()
	mask := d.U16()
	if mask >= productPatchMembers {
		d.Fail()
	}
	if mask&productPatchName != 0 {
		p.Name = new(d.Text())
	}
	if mask&productPatchVendors != 0 {
		p.Vendors = new(d.Texts())
	}
	if mask&productPatchCategories != 0 {
		p.Categories = new(d.Texts())
	}
	if mask&productPatchBrand != 0 {
		p.Brand = new(d.Text())
	}
	if mask&productPatchActive != 0 {
		p.Active = new(d.Bool())
	}
	if mask&productPatchQuality != 0 {
		p.Quality = new(d.U32())
	}
	if mask&productPatchPrice != 0 {
		p.Price = new(d.Price())
	}
	if mask&productPatchAttributes != 0 {
		p.Attributes = new(d.Texts())
	}
	if mask&productPatchPromotions != 0 {
		p.Promotions = new(d.Texts())
	}
	p.Document = d.documentMembers()
	return p
}

// documentMembers reads members of a document. It fails when two have the same name, because document.Merge requires
// different names.
func (d *Decoder) documentMembers() (all []document.Member) {
	for range d.Count(2) {
		member := document.Member{Name: d.Text(), Value: d.Copy()}
		if len(member.Value) == 0 || slices.ContainsFunc(all, func(x document.Member) bool { return x.Name == member.Name }) {
			d.Fail()
		}
		all = append(all, member)
	}
	return all
}
