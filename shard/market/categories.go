package market

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/model"
)

// Category membership. A depth-first walk over the category forest numbers the categories so that every subtree has
// consecutive positions. So "in that category or a descendant of it" is two comparisons, and the products of a category
// are those that name a category in a range of positions. A moved category needs a new walk over all categories and no
// work on products.
//
// Each category lists the products with bids that name it, in no particular order. An entry may be stale (the product
// left the category or lost its bids) or repeated. So a reader checks the product's own categories and skips products
// that it has already seen. A list with more stale than valid entries is compacted.

// PutCategory adds or replaces a category.
func (m *Market) PutCategory(marketplace uint16, c *model.Category) {
	m.mu.Lock()
	defer m.mu.Unlock()

	parent := noCategory
	if c.ParentID != "" {
		parent = m.category(marketplace, c.ParentID)
	}
	m.setCategory(m.category(marketplace, c.ID), true, parent)
}

// DeleteCategory removes a category. Its children become roots; products that name it are in it again when it returns.
func (m *Market) DeleteCategory(marketplace uint16, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if i, _, ok := m.findCategory(marketplace, id); ok {
		m.setCategory(i, false, noCategory)
	}
}

func (m *Market) setCategory(i uint32, known bool, parent uint32) {
	r := m.categories.at(i)
	if r.known == known && r.parent == parent {
		return
	}
	r = m.categories.edit(i, m.edition)
	r.known, r.parent = known, parent
	m.dirty, m.treeDirty = true, true
}

// rebuildWalk numbers the known categories in depth-first order. A category with an unknown parent is a root. The
// categories of a cycle, which the machine refuses, are reachable from no root and contain nothing.
func (m *Market) rebuildWalk() {
	n := m.categories.count
	children := make([][]uint32, n)
	var roots []uint32
	for i := range n {
		switch r := m.categories.at(i); {
		case !r.known:
		case r.parent != noCategory && m.categories.at(r.parent).known:
			children[r.parent] = append(children[r.parent], i)
		default:
			roots = append(roots, i)
		}
	}
	from, to := make([]uint32, n), make([]uint32, n)
	walk := make([]uint32, 0, n)
	type step struct{ category, child uint32 }
	var path []step
	for _, root := range roots {
		path = append(path, step{category: root})
		for len(path) > 0 {
			top := &path[len(path)-1]
			if top.child == 0 {
				from[top.category] = uint32(len(walk)) // At most n.
				walk = append(walk, top.category)
			}
			if kids := children[top.category]; int(top.child) < len(kids) {
				top.child++
				path = append(path, step{category: kids[top.child-1]})
				continue
			}
			to[top.category] = uint32(len(walk)) // At most n.
			path = path[:len(path)-1]
		}
	}
	for i := range n {
		if r := m.categories.at(i); r.from != from[i] || r.to != to[i] {
			r = m.categories.edit(i, m.edition)
			r.from, r.to = from[i], to[i]
		}
	}
	m.walk = walk
	m.treeDirty = false
}

// addToCategories adds a product with bids to the lists of its categories.
func (m *Market) addToCategories(product uint32) {
	r := m.products.at(product)
	if r.Flags&productListed != 0 || r.Bids == 0 || r.details == 0 {
		return
	}
	m.products.edit(product, m.edition).Flags |= productListed
	for _, i := range categoriesIn(m.details.at(r.details)) {
		c := m.categories.edit(i, m.edition)
		c.members = append(c.members, product)
	}
}

// removeFromCategories marks a product's entries in the lists of its categories as stale.
func (m *Market) removeFromCategories(product uint32) {
	r := m.products.at(product)
	if r.Flags&productListed == 0 {
		return
	}
	m.products.edit(product, m.edition).Flags &^= productListed
	for _, i := range categoriesIn(m.details.at(r.details)) {
		c := m.categories.edit(i, m.edition)
		if c.stale++; c.stale > staleMin && int(c.stale) > len(c.members)/2 {
			m.compactCategory(i, c)
		}
	}
}

// staleMin is the number of stale entries up to which a list is not compacted.
const staleMin = 64

// compactCategory rewrites the list of a category without stale and repeated entries.
func (m *Market) compactCategory(category uint32, c *categoryRow) {
	var kept []uint32
	for _, product := range c.members {
		r := m.products.at(product)
		if r.Flags&productListed != 0 && slices.Contains(categoriesIn(m.details.at(r.details)), category) {
			kept = append(kept, product)
		}
	}
	slices.Sort(kept)
	c.members, c.stale = slices.Compact(kept), 0
}
