package shard

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// categoryDepthMax bounds the walk to the root of a category tree. BOUND: real trees have fewer than ten levels;
// without a bound, a chain of thousands of categories would make one command read millions of records.
const categoryDepthMax = 64

// putCategories adds or replaces categories, all or nothing. Parents need not exist yet.
func (m *Machine) putCategories(p *command.PutCategories) command.Result {
	t := m.begin()
	for i := range p.Categories {
		c := &p.Categories[i]
		if !isID(c.ID) || len(c.ParentID) > textMax {
			return refused(command.Invalid, i)
		}
		key := keyCatalog(nil, tableCategory, p.Marketplace, c.ID)
		if stored, found := t.get(key); found {
			c.CreatedMillis = mustCategory(stored).CreatedMillis
		}
		t.put(key, command.AppendCategory(nil, c))
	}
	deep := command.Result{}
	for i := range p.Categories {
		why := t.checkAncestors(p.Marketplace, &p.Categories[i])
		if why == command.Cycle {
			return refused(why, i)
		}
		if why == command.TooMany {
			deep = refused(why, i) // Another element may close a cycle above this one; then that element is reported, as Cycle.
		}
	}
	if deep.Refusal != command.Done {
		return deep
	}
	t.commit()
	for i := range p.Categories {
		m.feed.PutCategory(p.Marketplace, &p.Categories[i])
		m.changed = true
	}
	return command.Result{}
}

// checkAncestors walks from a category to its root. It returns Cycle when the walk comes back to the category, and
// TooMany when the root is further than categoryDepthMax.
func (t *txn) checkAncestors(marketplace uint16, c *model.Category) command.Refusal {
	key := keyCatalog(nil, tableCategory, marketplace, c.ID)
	stored, found := t.get(key) // A later element of the command may have replaced c.
	for range categoryDepthMax {
		if !found {
			return command.Done
		}
		parent := mustCategory(stored).ParentID
		if parent == "" {
			return command.Done
		}
		if parent == c.ID {
			return command.Cycle
		}
		key = keyCatalog(key[:0], tableCategory, marketplace, parent)
		stored, found = t.get(key)
	}
	return command.TooMany
}

// putProducts adds or replaces products, all or nothing.
func (m *Machine) putProducts(p *command.PutProducts) command.Result {
	for i := range p.Products {
		if x := &p.Products[i]; !isID(x.ID) || slices.ContainsFunc(x.Vendors, func(v string) bool { return len(v) > textMax }) {
			return refused(command.Invalid, i)
		}
	}
	for i := range p.Products {
		x := &p.Products[i]
		key := keyCatalog(nil, tableProduct, p.Marketplace, x.ID)
		var old model.Product
		var was uint64
		if stored, found := m.get(key); found {
			was, old = m.hashOf(key, stored), mustProduct(stored)
			x.CreatedMillis = old.CreatedMillis
		}
		m.moveVendors(p.Marketplace, x.ID, old.Vendors, x.Vendors)
		m.putOver(key, command.AppendProduct(nil, x), was)
		m.feed.PutProduct(p.Marketplace, x)
		m.changed = true
	}
	return command.Result{}
}

// patchProducts changes the named members of products, all or nothing. All other members keep their current value, even
// when the proposer has seen an older one.
func (m *Machine) patchProducts(p *command.PatchProducts) command.Result {
	after := make(map[string]model.Product, len(p.Products))
	for i := range p.Products {
		patch := &p.Products[i]
		x, staged := after[patch.ID]
		if !staged {
			stored, found := m.get(keyCatalog(nil, tableProduct, p.Marketplace, patch.ID))
			if !found {
				return refused(command.NotFound, i)
			}
			x = mustProduct(stored)
		}
		if patch.Change(&x) != nil || slices.ContainsFunc(x.Vendors, func(v string) bool { return len(v) > textMax }) {
			return refused(command.Invalid, i)
		}
		x.UpdatedMillis = m.state.now
		after[patch.ID] = x
	}
	put := command.PutProducts{Marketplace: p.Marketplace}
	for i := range p.Products { // In the order of the command, because the order of a map differs between replicas.
		if x, pending := after[p.Products[i].ID]; pending {
			put.Products = append(put.Products, x)
			delete(after, x.ID)
		}
	}
	return m.putProducts(&put)
}

// moveVendors changes the vendors under which a product is listed.
//
// INVARIANT: a stored product has exactly one entry under each of its vendors and no others. So an entry that stays or
// is added needs no read of the stored state.
func (m *Machine) moveVendors(marketplace uint16, product string, from, to []string) {
	key := func(v string) []byte { return append(keyOfVendor(nil, tableVendorItem, marketplace, v), product...) }
	for _, v := range from {
		if !slices.Contains(to, v) {
			m.put(key(v), nil)
		}
	}
	for i, v := range to {
		if !slices.Contains(from, v) && !slices.Contains(to[:i], v) {
			m.putOver(key(v), []byte{}, 0)
		}
	}
}

// deleteCatalog removes products and categories; unknown ids are ignored.
func (m *Machine) deleteCatalog(x *command.DeleteCatalog) command.Result {
	for _, id := range x.Products {
		key := keyCatalog(nil, tableProduct, x.Marketplace, id)
		stored, found := m.get(key)
		if !found {
			continue
		}
		old := mustProduct(stored)
		m.moveVendors(x.Marketplace, id, old.Vendors, nil)
		m.put(key, nil)
		m.feed.DeleteProduct(x.Marketplace, id)
		m.changed = true
	}
	for _, id := range x.Categories {
		key := keyCatalog(nil, tableCategory, x.Marketplace, id)
		if _, found := m.get(key); !found {
			continue
		}
		m.put(key, nil)
		m.feed.DeleteCategory(x.Marketplace, id)
		m.changed = true
	}
	return command.Result{}
}

func isID(id string) bool { return id != "" && len(id) <= textMax }

// The must functions decode stored values and panic on one that cannot be decoded. Load has decoded all of them and
// checked the digest, so only a defect or broken memory can cause this, and any further step could replicate the
// damage.

func mustCategory(b []byte) model.Category {
	d := command.NewDecoder(b)
	var c model.Category
	d.Category(&c)
	return must(c, d.Err())
}

func mustProduct(b []byte) model.Product {
	d := command.NewDecoder(b)
	var p model.Product
	d.Product(&p)
	return must(p, d.Err())
}

func mustMarketplace(b []byte) model.Marketplace {
	d := command.NewDecoder(b)
	var x model.Marketplace
	d.Marketplace(&x)
	return must(x, d.Err())
}

func mustBid(b []byte) model.Bid {
	d := command.NewDecoder(b)
	var bid model.Bid
	d.Bid(&bid)
	return must(bid, d.Err())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic("shard: stored record: " + err.Error())
	}
	return v
}
