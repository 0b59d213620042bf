package market

import (
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard/model"
)

// The details of a product are one list of 32-bit words: the number of categories, their rows, the number of
// attributes, two words of hash for each attribute, and two words of hash for each promotion up to the end of the list.

// PutProduct adds or replaces a catalog product.
func (m *Market) PutProduct(marketplace uint16, p *model.Product) {
	m.mu.Lock()
	defer m.mu.Unlock()

	i := m.product(marketplace, p.ID)
	flags := ProductKnown
	if p.Active {
		flags |= ProductActive
	}
	m.setProduct(i, flags, p.Quality, m.detail(marketplace, p))
	m.setBrand(i, marketplace, p.Brand)
	m.setPrice(i, p.Price)
}

// DeleteProduct removes a product from the catalog. Its bids stay, and compete again when the product is put again.
func (m *Market) DeleteProduct(marketplace uint16, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if i, _, ok := m.findProduct(marketplace, id); ok {
		m.setProduct(i, 0, 0, nil)
		m.setPrice(i, 0)
	}
}

// detail builds the list of a product's details. It is valid until the next use of m.words.
func (m *Market) detail(marketplace uint16, p *model.Product) []uint32 {
	seed := seedOf(m.seed, marketplace)
	list := append(m.words[:0], 0)
	for _, id := range p.Categories {
		if c := m.category(marketplace, id); !slices.Contains(list[1:], c) {
			list = append(list, c)
		}
	}
	for _, key := range travelKeys(p.Attributes) {
		if c := m.category(marketplace, key); !slices.Contains(list[1:], c) {
			list = append(list, c)
		}
	}
	list[0] = uint32(len(list) - 1)                // At most 50, and the travel keys.
	list = append(list, uint32(len(p.Attributes))) // At most 8 KiB of them.
	for _, texts := range [][]string{p.Attributes, p.Promotions} {
		for _, text := range texts {
			m.key = append(m.key[:0], text...)
			hash := m.hash(seed, m.key)
			list = append(list, uint32(hash), uint32(hash>>32)) // The two halves.
		}
	}
	m.words = list
	if len(list) == 2 {
		return nil
	}
	return list
}

// travelKeys returns the pseudo categories of a travel product: its metadata.travelType, whether it has a
// metadata.site, and that site. They are stored like categories, under names that no category can have and outside of
// the tree, so that the products of a travel type are listed like those of a category.
func travelKeys(attributes []string) (keys []string) {
	for _, a := range attributes {
		if kind, ok := strings.CutPrefix(a, "travelType:"); ok {
			keys = append(keys, travelType+kind)
		}
	}
	if keys == nil {
		return nil // Not a travel product, so its site does not matter.
	}
	for _, a := range attributes {
		if site, ok := strings.CutPrefix(a, "site:"); ok {
			keys = append(keys, travelAny, travelSite+site)
		}
	}
	return keys
}

// setProduct stores the catalog part of a product if it changed.
func (m *Market) setProduct(i uint32, flags ProductFlags, quality uint32, detail []uint32) {
	const own = ProductKnown | ProductActive
	r := m.products.at(i)
	if r.Flags&own == flags && r.Quality == quality && slices.Equal(m.details.at(r.details), detail) {
		return
	}
	m.dirty = true
	m.countProduct(r.Marketplace, r.Flags, flags)
	r = m.products.edit(i, m.edition)
	if before := categoriesIn(m.details.at(r.details)); !slices.Equal(before, categoriesIn(detail)) {
		m.removeFromCategories(i)
	}
	r.Flags = r.Flags&^own | flags
	r.Quality = quality
	r.details = m.details.replace(r.details, detail)
	m.addToCategories(i)
}

func categoriesIn(detail []uint32) []uint32 {
	if len(detail) == 0 {
		return nil
	}
	return detail[1 : 1+detail[0]]
}

// dropCatalog empties the catalog of every marketplace.
func (m *Market) dropCatalog() {
	for i := range m.products.count {
		m.setProduct(i, 0, 0, nil)
		m.setPrice(i, 0)
	}
	for i := range m.categories.count {
		m.setCategory(i, false, noCategory)
	}
}
