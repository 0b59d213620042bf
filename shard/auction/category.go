package auction

import "github.com/gavel-ads/gavel/shard/market"

// expression is a category context: a product satisfies it by being in at least one tree of every clause. One category
// is one clause of one tree, "all of them" is a clause for each.
type expression struct {
	trees []market.Subtree
	ends  []int // End in trees of each clause.
}

func (e *expression) reset() { e.trees, e.ends = e.trees[:0], e.ends[:0] }

// resolve looks the named categories up. A name that nobody mentioned becomes no tree, which leaves its clause with the
// other ones or, empty, unsatisfiable.
func (e *expression) resolve(v *market.View, marketplace uint16, req *Request, c *Category) {
	e.reset()
	clause := 0
	for i, id := range c.IDs {
		if tree, ok := v.Subtree(marketplace, id.Hash, req.Text(id.Span)); ok {
			e.trees = append(e.trees, tree)
		}
		ends := true // A clause for each.
		if c.Form == Disjunctions {
			ends = i+1 == c.Ends[clause]
		}
		if ends {
			e.ends = append(e.ends, len(e.trees))
			clause++
		}
	}
}

// holds reports whether a product satisfies the expression.
func (e *expression) holds(v *market.View, r *market.ProductRow) bool {
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
		if v.In(r, tree) {
			return true
		}
	}
	return false
}

// smallest returns the clause with the fewest products; whatever satisfies the expression is in one of its trees.
func (e *expression) smallest(v *market.View) []market.Subtree {
	var least []market.Subtree
	size, from := 0, 0
	for i, end := range e.ends {
		sum := 0
		for _, tree := range e.trees[from:end] {
			sum += v.Size(tree)
		}
		if i == 0 || sum < size {
			least, size = e.trees[from:end], sum
		}
		from = end
	}
	return least
}

// names reports whether a category is a named one or an ancestor of one.
func (e *expression) names(v *market.View, category uint32) bool {
	for _, tree := range e.trees {
		if v.IsOrHolds(category, tree) {
			return true
		}
	}
	return false
}
