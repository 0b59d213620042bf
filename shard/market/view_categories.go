package market

import "bytes"

// Subtree is a category together with its descendants: a run of positions of the view's walk. It is empty for a category
// that the catalog does not have.
type Subtree struct {
	Category uint32
	From, To uint32
}

// Subtree returns the category with that id, and false when nobody mentioned it.
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

// IsOrHolds reports whether a category is the root of s or one of its ancestors.
func (v *View) IsOrHolds(category uint32, s Subtree) bool {
	r := v.categories.at(category)
	return category == s.Category || s.From < s.To && r.from <= s.From && s.From < r.to
}

// In reports whether a product is in the subtree.
func (v *View) In(r *ProductRow, s Subtree) bool {
	for _, i := range categoriesIn(wordsAt(v.details, r.details)) {
		c := v.categories.at(i)
		if c.from < c.to && s.From <= c.from && c.from < s.To {
			return true
		}
	}
	return false
}

// Size is about how many products with bids a subtree has; no less, unless 0.
func (v *View) Size(s Subtree) int {
	n := 0
	for _, i := range v.walk[s.From:s.To] {
		n += len(v.categories.at(i).members)
	}
	return n
}

// Members returns the products with bids that name the category at a position of the walk. Some have left since, some
// come twice; In tells.
func (v *View) Members(position uint32) []uint32 { return v.categories.at(v.walk[position]).members }
