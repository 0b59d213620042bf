package shard

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// Queries is the read side of a group's state: functions over the durable state for reports, management answers and
// offline verification. It may be used on any consistent snapshot, also while a Machine is running.
//
// Lists are returned in pages: the items after an id, at most limit of them, and whether more follow. Everything
// returned is a copy. A query panics on a stored value that cannot be decoded, because Load has decoded and checked all
// of them.
type Queries struct{ R Reader }

// StoredRecord is a management record.
type StoredRecord struct {
	ID      string
	Version uint64
	Class   string
	Value   []byte
}

// Clock returns the state clock in Unix milliseconds, 0 before the first command.
func (b Queries) Clock() int64 { return b.state().now }

// FeatureLevel returns the feature level that the group has reached.
func (b Queries) FeatureLevel() command.Level { return b.state().level }

// Turn returns the turn of the state (type attempts), which a proposer puts into command.Attempt.Seen.
func (b Queries) Turn() uint64 { return b.state().turn }

func (b Queries) state() state {
	stored, found := b.R.Get([]byte{tableState})
	if !found {
		return state{}
	}
	return must(readState(stored))
}

// Marketplaces lists all marketplaces in the order of their ordinals.
func (b Queries) Marketplaces() (all []model.Marketplace) {
	b.R.Scan([]byte{tableMarketplace}, []byte{tableMarketplace + 1}, func(_, value []byte) bool {
		all = append(all, mustMarketplace(value))
		return true
	})
	return all
}

// Marketplace returns one marketplace.
func (b Queries) Marketplace(ordinal uint16) (x model.Marketplace, found bool) {
	stored, found := b.R.Get(keyMarketplace(nil, ordinal))
	if !found {
		return x, false
	}
	return mustMarketplace(stored), true
}

// Secrets returns the cluster's keys.
func (b Queries) Secrets() (s command.Secrets, found bool) {
	stored, found := b.R.Get([]byte{tableSecrets})
	if !found {
		return s, false
	}
	d := command.NewDecoder(stored)
	d.Secrets(&s)
	return must(s, d.Err()), true
}

// Deletion returns the mark of a vendor that the catalog lost, zero where there is none: see command.MarkVendors.
func (b Queries) Deletion(marketplace uint16, vendorID string) ids.UUID {
	stored, _ := b.R.Get(keyCatalog(nil, tableVendorMark, marketplace, vendorID))
	return deletion(stored)
}

// Record returns one record.
func (b Queries) Record(kind command.RecordKind, marketplace uint16, id string) (StoredRecord, bool) {
	stored, found := b.R.Get(keyRecord(nil, kind, marketplace, id))
	if !found {
		return StoredRecord{}, false
	}
	return loadRecord(id, stored), true
}

func loadRecord(id string, stored []byte) StoredRecord {
	r := must(readRecord(stored))
	return StoredRecord{ID: id, Version: r.version, Class: r.class, Value: append([]byte{}, r.value...)}
}

// Records lists the records of a kind in the order of their ids.
func (b Queries) Records(kind command.RecordKind, marketplace uint16, afterID string, limit int) ([]StoredRecord, bool) {
	return page(b.R, keyRecord(nil, kind, marketplace, ""), afterID, limit, loadRecord)
}

// page reads at most limit items whose keys are prefix followed by an id, in the order of their ids, after a given id.
func page[T any](r Reader, prefix []byte, afterID string, limit int, read func(id string, value []byte) T) (all []T, more bool) {
	from := prefix
	if afterID != "" {
		from = append(append([]byte(nil), prefix...), afterID+"\x00"...)
	}
	r.Scan(from, prefixEnd(prefix), func(key, value []byte) bool {
		if len(all) == limit {
			more = true
			return false
		}
		all = append(all, read(string(key[len(prefix):]), value))
		return true
	})
	return all, more
}

// Category returns one category.
func (b Queries) Category(marketplace uint16, id string) (model.Category, bool) {
	stored, found := b.R.Get(keyCatalog(nil, tableCategory, marketplace, id))
	if !found {
		return model.Category{}, false
	}
	return mustCategory(stored), true
}

// Categories lists categories in the order of their ids.
func (b Queries) Categories(marketplace uint16, afterID string, limit int) ([]model.Category, bool) {
	return page(b.R, keyCatalog(nil, tableCategory, marketplace, ""), afterID, limit,
		func(_ string, value []byte) model.Category { return mustCategory(value) })
}

// CategoryCount counts the categories of a marketplace; it scans all of them.
func (b Queries) CategoryCount(marketplace uint16) (n int) {
	prefix := keyCatalog(nil, tableCategory, marketplace, "")
	b.R.Scan(prefix, prefixEnd(prefix), func(_, _ []byte) bool { n++; return true })
	return n
}

// Product returns one product.
func (b Queries) Product(marketplace uint16, id string) (model.Product, bool) {
	stored, found := b.R.Get(keyCatalog(nil, tableProduct, marketplace, id))
	if !found {
		return model.Product{}, false
	}
	return mustProduct(stored), true
}

// Products lists products in the order of their ids.
func (b Queries) Products(marketplace uint16, afterID string, limit int) ([]model.Product, bool) {
	return page(b.R, keyCatalog(nil, tableProduct, marketplace, ""), afterID, limit,
		func(_ string, value []byte) model.Product { return mustProduct(value) })
}

// ProductsOf lists the products of one vendor in the order of their ids.
func (b Queries) ProductsOf(marketplace uint16, vendor, afterID string, limit int) ([]model.Product, bool) {
	names, more := page(b.R, keyOfVendor(nil, tableVendorItem, marketplace, vendor), afterID, limit,
		func(id string, _ []byte) string { return id })
	all := make([]model.Product, 0, len(names))
	for _, id := range names {
		p, found := b.Product(marketplace, id)
		if found {
			all = append(all, p)
		}
	}
	return all, more
}
