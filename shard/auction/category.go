package auction

import "github.com/gavel-ads/gavel/shard/market"

// expression is a category context in conjunctive form. A product satisfies it by being in at least one subtree of
// every clause. One category is one clause with one subtree; AllCategories has one clause for each category.
type expression struct {
	trees []market.Subtree
	ends  []int // The end of each clause in trees.
}

func (e *expression) reset() { e.trees, e.ends = e.trees[:0], e.ends[:0] }

// resolve looks up the named categories. An unknown category adds no subtree. A clause of unknown categories only is
// empty, and no product satisfies it.
func (e *expression) resolve(v *market.View, marketplace uint16, req *Request, c *Category) {
	e.reset()
	clause := 0
	for i, id := range c.IDs {
		if tree, ok := v.Subtree(marketplace, id.Hash, req.Text(id.Span)); ok {
			e.trees = append(e.trees, tree)
		}
		ends := true // Except for Disjunctions, every category is a clause.
		if c.Form == Disjunctions {
			ends = i+1 == c.Ends[clause]
		}
		if ends {
			e.ends = append(e.ends, len(e.trees))
			clause++
		}
	}
}

// satisfiedBy reports whether a product satisfies the expression.
func (e *expression) satisfiedBy(v *market.View, r *market.ProductRow) bool {
	from := 0
	for _, end := range e.ends {
		if !inAny(v, r, e.trees[from:end]) {
			return false
		}
		from = end
	}
	return len(e.ends) > 0
}

func inAny(v *market.View, r *market.ProductRow, trees []market.Subtree) bool {
	for _, tree := range trees {
		if v.InSubtree(r, tree) {
			return true
		}
	}
	return false
}

// smallest returns the clause with the fewest products. Every product that satisfies the expression is in one of its
// subtrees.
func (e *expression) smallest(v *market.View) []market.Subtree {
	var least []market.Subtree
	size, from := 0, 0
	for i, end := range e.ends {
		sum := 0
		for _, tree := range e.trees[from:end] {
			sum += v.SubtreeSize(tree)
		}
		if i == 0 || sum < size {
			least, size = e.trees[from:end], sum
		}
		from = end
	}
	return least
}

// namesCategory reports whether the expression names a category or one of its descendants.
func (e *expression) namesCategory(v *market.View, category uint32) bool {
	for _, tree := range e.trees {
		if v.IsOrContains(category, tree) {
			return true
		}
	}
	return false
}
