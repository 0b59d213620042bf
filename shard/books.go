package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
)

// Books is the read side of a group's state: pure functions over what is durable, for reports, management answers and
// audits. It may be used on any consistent snapshot, beside a running Machine.
//
// Lists come in pages: items after an id, at most limit of them, and whether more follow. Everything returned is a copy.
// A stored value that cannot be read panics: Load has checked it.
type Books struct{ R Reader }

// CampaignState is a campaign with its money.
type CampaignState struct {
	market.Campaign
	Money    ledger.Budget
	BidCount int // Not deleted.
}

// CampaignFilter narrows Campaigns. Zero members do not narrow.
type CampaignFilter struct {
	VendorID string
	Status   *market.Status // Nil leaves terminated campaigns out.
	Format   *market.AdFormat
	Active   *bool
}

// StoredRecord is a management record.
type StoredRecord struct {
	ID      string
	Version uint64
	Class   string
	Value   []byte
}

// Clock returns the state clock in Unix milliseconds, 0 before the first command.
func (b Books) Clock() int64 { return b.state().now }

func (b Books) state() state {
	stored, found := b.R.Get([]byte{tableState})
	if !found {
		return state{}
	}
	return must(readState(stored))
}

// Periods returns the current budget periods of a marketplace.
func (b Books) Periods(marketplace uint16) (p command.Periods, found bool) {
	stored, found := b.R.Get(keyPeriods(nil, marketplace))
	if !found {
		return command.Periods{Marketplace: marketplace}, false
	}
	d := command.NewDecoder(stored)
	p = d.Periods()
	return must(p, d.Err()), true
}

// Marketplaces lists all marketplaces by ordinal.
func (b Books) Marketplaces() (all []market.Marketplace) {
	b.R.Scan([]byte{tableMarketplace}, []byte{tableMarketplace + 1}, func(_, value []byte) bool {
		d := command.NewDecoder(value)
		x := d.Marketplace()
		all = append(all, must(x, d.Err()))
		return true
	})
	return all
}

// Marketplace returns one marketplace.
func (b Books) Marketplace(ordinal uint16) (x market.Marketplace, found bool) {
	stored, found := b.R.Get(keyMarketplace(nil, ordinal))
	if !found {
		return x, false
	}
	d := command.NewDecoder(stored)
	x = d.Marketplace()
	return must(x, d.Err()), true
}

// Secrets returns the cluster's keys.
func (b Books) Secrets() (s command.Secrets, found bool) {
	stored, found := b.R.Get([]byte{tableSecrets})
	if !found {
		return s, false
	}
	d := command.NewDecoder(stored)
	s = d.Secrets()
	return must(s, d.Err()), true
}

// Record returns one record.
func (b Books) Record(kind command.RecordKind, marketplace uint16, id string) (StoredRecord, bool) {
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

// Records lists the records of a kind by id.
func (b Books) Records(kind command.RecordKind, marketplace uint16, afterID string, limit int) ([]StoredRecord, bool) {
	return page(b.R, keyRecord(nil, kind, marketplace, ""), afterID, limit, loadRecord)
}

// page reads up to limit items whose keys are prefix and an id, after a given id.
func page[T any](r Reader, prefix []byte, afterID string, limit int, read func(id string, value []byte) T) (all []T, more bool) {
	from := prefix
	if afterID != "" {
		from = append(append([]byte(nil), prefix...), afterID+"\x00"...)
	}
	r.Scan(from, after(prefix), func(key, value []byte) bool {
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
func (b Books) Category(marketplace uint16, id string) (market.Category, bool) {
	stored, found := b.R.Get(keyCatalog(nil, tableCategory, marketplace, id))
	if !found {
		return market.Category{}, false
	}
	return mustCategory(stored), true
}

// Categories lists categories by id.
func (b Books) Categories(marketplace uint16, afterID string, limit int) ([]market.Category, bool) {
	return page(b.R, keyCatalog(nil, tableCategory, marketplace, ""), afterID, limit,
		func(_ string, value []byte) market.Category { return mustCategory(value) })
}

// CategoryCount counts the categories.
func (b Books) CategoryCount(marketplace uint16) (n int) {
	prefix := keyCatalog(nil, tableCategory, marketplace, "")
	b.R.Scan(prefix, after(prefix), func(_, _ []byte) bool { n++; return true })
	return n
}

// Product returns one product.
func (b Books) Product(marketplace uint16, id string) (market.Product, bool) {
	stored, found := b.R.Get(keyCatalog(nil, tableProduct, marketplace, id))
	if !found {
		return market.Product{}, false
	}
	return mustProduct(stored), true
}

// Products lists products by id.
func (b Books) Products(marketplace uint16, afterID string, limit int) ([]market.Product, bool) {
	return page(b.R, keyCatalog(nil, tableProduct, marketplace, ""), afterID, limit,
		func(_ string, value []byte) market.Product { return mustProduct(value) })
}

// ProductsOf lists the products of one vendor by id.
func (b Books) ProductsOf(marketplace uint16, vendor, afterID string, limit int) ([]market.Product, bool) {
	names, more := page(b.R, keyOfVendor(nil, tableVendorItem, marketplace, vendor), afterID, limit,
		func(id string, _ []byte) string { return id })
	all := make([]market.Product, 0, len(names))
	for _, id := range names {
		p, found := b.Product(marketplace, id)
		if found {
			all = append(all, p)
		}
	}
	return all, more
}

// Wallet returns one wallet.
func (b Books) Wallet(id ids.UUID) (ledger.Wallet, bool) {
	stored, found := b.R.Get(keyWallet(nil, id))
	if !found {
		return ledger.Wallet{}, false
	}
	return must(readWallet(id, stored)), true
}

// Wallets lists the wallets of a vendor by id.
func (b Books) Wallets(marketplace uint16, vendor string) (all []ledger.Wallet) {
	prefix := keyOfVendor(nil, tableVendorWallet, marketplace, vendor)
	var names []ids.UUID
	b.R.Scan(prefix, after(prefix), func(key, _ []byte) bool {
		names = append(names, ids.UUID(key[len(prefix):]))
		return true
	})
	for _, id := range names {
		if w, found := b.Wallet(id); found {
			all = append(all, w)
		}
	}
	return all
}

// Campaign returns a campaign of any marketplace: callers compare its Marketplace with theirs.
func (b Books) Campaign(id ids.UUID) (CampaignState, bool) {
	at, found := b.R.Get(keyCampaignID(nil, id))
	if !found {
		return CampaignState{}, false
	}
	return b.CampaignByOrdinal(binary.BigEndian.Uint32(at))
}

// CampaignByOrdinal returns the campaign with an ordinal of this group.
func (b Books) CampaignByOrdinal(ordinal uint32) (CampaignState, bool) {
	stored, found := b.R.Get(keyCampaign(nil, ordinal))
	if !found {
		return CampaignState{}, false
	}
	c := must(readCampaign(stored))
	s := CampaignState{Campaign: c.Campaign, BidCount: int(c.bids)}
	if stored, found = b.R.Get(keyBudget(nil, ordinal)); found {
		s.Money = must(readBudget(stored))
	}
	return s, true
}

// CampaignByExternalID returns the campaign with an external id, unique per marketplace and format in this group.
func (b Books) CampaignByExternalID(marketplace uint16, format market.AdFormat, external string) (CampaignState, bool) {
	at, found := b.R.Get(keyExternalID(nil, marketplace, format, external))
	if !found {
		return CampaignState{}, false
	}
	return b.CampaignByOrdinal(binary.BigEndian.Uint32(at))
}

// Campaigns lists campaigns of a marketplace that pass the filter, newest first, leaving out the first offset of them.
func (b Books) Campaigns(marketplace uint16, f *CampaignFilter, offset, limit int) (all []CampaignState, more bool) {
	prefix := appendU16([]byte{tableNewest}, marketplace)
	if f.VendorID != "" {
		prefix = keyOfVendor(nil, tableVendorNewest, marketplace, f.VendorID)
	}
	var ordinals []uint32
	b.R.Scan(prefix, after(prefix), func(key, _ []byte) bool {
		ordinals = append(ordinals, ^binary.BigEndian.Uint32(key[len(key)-4:]))
		return true
	})
	for _, ordinal := range ordinals {
		c, found := b.CampaignByOrdinal(ordinal)
		switch {
		case !found || !f.passes(&c.Campaign):
		case offset > 0:
			offset--
		case len(all) == limit:
			return all, true
		default:
			all = append(all, c)
		}
	}
	return all, false
}

func (f *CampaignFilter) passes(c *market.Campaign) bool {
	if f.Status == nil && c.Status == market.Terminated || f.Status != nil && *f.Status != c.Status {
		return false
	}
	return (f.Format == nil || *f.Format == c.Format) && (f.Active == nil || *f.Active == c.Active)
}

// Bid returns a bid of any campaign by id, with the ordinal of its campaign. Tombstones are found.
func (b Books) Bid(id ids.UUID) (campaign uint32, bid market.Bid, found bool) {
	at, found := b.R.Get(keyBidID(nil, id))
	if !found {
		return 0, bid, false
	}
	campaign, ordinal := binary.BigEndian.Uint32(at), binary.BigEndian.Uint32(at[4:])
	stored, found := b.R.Get(keyBid(nil, campaign, ordinal))
	if !found {
		return 0, bid, false
	}
	return campaign, mustBid(stored), true
}

// Bids lists the bids of a campaign that are not deleted in the order of their creation, leaving out the first offset.
func (b Books) Bids(campaign uint32, offset, limit int) (all []market.Bid, more bool) {
	prefix := appendU32([]byte{tableBid}, campaign)
	b.R.Scan(prefix, after(prefix), func(_, value []byte) bool {
		switch bid := mustBid(value); {
		case bid.Deleted:
		case offset > 0:
			offset--
		case len(all) == limit:
			more = true
			return false
		default:
			all = append(all, bid)
		}
		return true
	})
	return all, more
}
