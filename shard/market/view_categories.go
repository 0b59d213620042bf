package market

import (
	"bytes"
	"slices"
)

// Subtree is a category with its descendants, as the range of positions [From, To) of the view's depth-first walk. The
// range is empty for a category that is not in the catalog.
type Subtree struct {
	Category uint32
	From, To uint32
}

// Subtree returns the category with that id, and false when no product, bid, rule or category has mentioned it.
func (v *View) Subtree(marketplace uint16, hash uint64, text []byte) (Subtree, bool) {
	t := v.categoryTable
	for p := t.probe(hash); ; {
		i, ok := t.next(&p)
		if !ok {
			return Subtree{}, false
		}
		if i &= ordinalMask; i >= v.categories.count {
			continue
		}
		if r := v.categories.at(i); r.marketplace == marketplace && bytes.Equal(textAt(v.texts, r.key, r.keyLen), text) {
			return Subtree{Category: i, From: r.from, To: r.to}, true
		}
	}
}

// IsOrContains reports whether a category is the root of s or one of its ancestors.
func (v *View) IsOrContains(category uint32, s Subtree) bool {
	r := v.categories.at(category)
	return category == s.Category || s.From < s.To && r.from <= s.From && s.From < r.to
}

// InSubtree reports whether a product is in a category of the subtree.
func (v *View) InSubtree(r *ProductRow, s Subtree) bool {
	for _, i := range categoriesIn(wordsAt(v.details, r.details)) {
		c := v.categories.at(i)
		if c.from < c.to && s.From <= c.from && c.from < s.To {
			return true
		}
	}
	return false
}

// SubtreeSize returns an upper bound of the number of products with bids in a subtree.
func (v *View) SubtreeSize(s Subtree) int {
	n := 0
	for _, i := range v.walk[s.From:s.To] {
		n += len(v.categories.at(i).members)
	}
	return n
}

// CategoryMembers returns the products with bids that name the category at a position of the walk. Some entries are
// stale or repeated; InSubtree decides.
func (v *View) CategoryMembers(position uint32) []uint32 {
	return v.categories.at(v.walk[position]).members
}

// FloorTree returns the category of a reserve rule that has one, with its descendants.
func (v *View) FloorTree(f *Floor) Subtree {
	r := v.categories.at(f.category)
	return Subtree{Category: f.category, From: r.from, To: r.to}
}

// Travel is a kind of travel at a site, as the pseudo categories of travelKeys. A category that no product names is
// noCategory.
type Travel struct {
	kind, anySite, site uint32
	known               bool
}

// Travel looks up a kind of travel ("hotels", "flights") and a site. It builds keys in scratch and returns that memory
// as key, for reuse.
func (v *View) Travel(scratch []byte, marketplace uint16, kind string, site []byte) (t Travel, key []byte) {
	find := func() uint32 {
		if tree, ok := v.Subtree(marketplace, v.hash(seedOf(v.seed, marketplace), key), key); ok {
			return tree.Category
		}
		return noCategory
	}
	key = append(append(scratch[:0], travelType...), kind...)
	t.kind = find()
	key = append(key[:0], travelAny...)
	t.anySite = find()
	key = append(append(key[:0], travelSite...), site...)
	t.site = find()
	t.known = t.kind != noCategory
	return t, key
}

// TravelMembers returns the products with bids of a kind of travel. Some entries are stale or repeated; IsTravel
// decides.
func (v *View) TravelMembers(t Travel) []uint32 {
	if !t.known {
		return nil
	}
	return v.categories.at(t.kind).members
}

// IsTravel reports whether a product is of the kind of travel and, if the product has a site, of the site.
func (v *View) IsTravel(r *ProductRow, t Travel) bool {
	in := categoriesIn(wordsAt(v.details, r.details))
	return slices.Contains(in, t.kind) && (!slices.Contains(in, t.anySite) || slices.Contains(in, t.site))
}
