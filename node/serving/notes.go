package serving

import (
	"fmt"
	"strings"

	"github.com/gavel-ads/gavel/shard/auction"
)

// namedMax bounds the ids that a note names; the others are only counted.
const namedMax = 5

// notes says what an auction names that the catalog does not have, because no bid can tell: a category or a product that is
// not in the catalog has none.
func (x *explainer) notes(a *auction.Auction) []string {
	notes := []string{}
	if a.Category.Form != auction.NoCategory {
		notes = appendMissing(notes, "category", "categories", x.missing(a.Category.IDs, func(id auction.ID) bool {
			s, named := x.view.Subtree(x.marketplace.Ordinal, id.Hash, x.request.Text(id.Span))
			return named && s.From < s.To
		}))
	}
	if a.HasProducts {
		notes = appendMissing(notes, "product", "products", x.missing(a.Products, func(id auction.ID) bool {
			return x.view.InCatalog(x.marketplace.Ordinal, x.request.Text(id.Span))
		}))
	}
	return notes
}

// missing returns the ids that are not in the catalog, each once, in the order of the request.
func (x *explainer) missing(all []auction.ID, inCatalog func(auction.ID) bool) (ids []string) {
	seen := map[string]bool{}
	for _, id := range all {
		if text := string(x.request.Text(id.Span)); !seen[text] && !inCatalog(id) {
			seen[text] = true
			ids = append(ids, text)
		}
	}
	return ids
}

func appendMissing(notes []string, one, many string, ids []string) []string {
	switch {
	case len(ids) == 0:
		return notes
	case len(ids) == 1:
		return append(notes, one+" "+ids[0]+" is not in the catalog")
	case len(ids) <= namedMax:
		return append(notes, many+" "+strings.Join(ids, ", ")+" are not in the catalog")
	}
	return append(notes, fmt.Sprintf("%d %s are not in the catalog: %s and %d more", len(ids), many, strings.Join(ids[:namedMax], ", "), len(ids)-namedMax))
}
