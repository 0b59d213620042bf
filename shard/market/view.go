package market

import (
	"bytes"
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/h3"
	"github.com/gavel-ads/gavel/shard/model"
)

// View is the immutable state of the market at one publication. Any number of goroutines may read it.
// OWNERSHIP: what its methods return aliases the view and must not be written.
type View struct {
	edition       uint64
	seed          uint64
	hash          func(seed uint64, text []byte) uint64
	markets       []*marketEntry
	texts         [][]byte
	products      frozen[ProductRow]
	productTable  *table
	categories    frozen[categoryRow]
	categoryTable *table
	locations     frozen[locationRow]
	walk          []uint32
	campaigns     frozen[CampaignRow]
	balances      []*balanceChunk
	servingNodes  *atomic.Uint32
	lossWeight    *atomic.Uint32
	enrolled      *enrolled
	terms         frozen[*CampaignTerms]
	vendorIDs     []Text
	segments      frozen[segmentRow]
	keywords      frozen[keywordRow]
	words         frozen[wordRow]
	wordTable     *table
	untriggered   map[uint16]uint32
	places        map[string]*Place
	assets        frozen[assetRow]
	ads           frozen[*Ad]
	brands        frozen[uint32]
	bids          [][]BidRow
	bidProducts   *bidProducts
	clicks        *clickRates
	details       [][]uint32
	predicates    [][]uint32
}

// Edition numbers the views of a process, from 1.
func (v *View) Edition() uint64 { return v.edition }

// Seed returns the seed under which a marketplace's ids are hashed in a request.
func (v *View) Seed(marketplace uint16) uint64 { return seedOf(v.seed, marketplace) }

// Marketplace returns the settings of a marketplace, nil when there is none with the ordinal.
func (v *View) Marketplace(ordinal uint16) *model.Marketplace {
	if int(ordinal) >= len(v.markets) || v.markets[ordinal] == nil {
		return nil
	}
	return &v.markets[ordinal].Marketplace
}

// OwnDemand returns the demandSource value of winners that are not external. REQUIRES: the marketplace exists.
func (v *View) OwnDemand(ordinal uint16) []byte { return v.markets[ordinal].ownDemand }

// ProductFilter returns the filter that rules out nearly all hashes of unknown product ids.
func (v *View) ProductFilter() TagFilter { return v.productTable.TagFilter }

// Product returns the row of a product id with the given hash. It compares neither the id nor the marketplace, except
// where two interned ids have the same bits of their hashes in the table. So a wrong row is as rare as two equal 60-bit
// hashes.
// REQUIRES: the caller confirms with IsProduct where a wrong row would matter. Because Product reads no row, a loop
// over many ids overlaps the cache misses of their entries. With onlyWithBids, products that never had a bid may be
// reported as absent.
func (v *View) Product(marketplace uint16, hash uint64, text []byte, onlyWithBids bool) (row uint32, ok bool) {
	t := v.productTable
	p := t.probe(hash)
	entry, ok := t.next(&p)
	if ok && entry&hashCollision == 0 {
		row = entry & ordinalMask
		return row, row < v.products.count && (!onlyWithBids || entry&hadBid != 0)
	}
	for ; ok; entry, ok = t.next(&p) {
		if row = entry & ordinalMask; row < v.products.count && v.IsProduct(row, marketplace, text) {
			return row, true
		}
	}
	return 0, false
}

// InCatalog reports whether the catalog of a marketplace contains a product.
func (v *View) InCatalog(marketplace uint16, id []byte) bool {
	row, ok := v.Product(marketplace, v.hash(seedOf(v.seed, marketplace), id), id, false)
	return ok && v.IsProduct(row, marketplace, id) && v.products.at(row).Flags&ProductKnown != 0
}

// HashOf returns the hash of a product's id under the seed of its marketplace, as in a request.
func (v *View) HashOf(row uint32) uint64 {
	r := v.products.at(row)
	return v.hash(seedOf(v.seed, r.Marketplace), v.Key(r))
}

// IsProduct reports whether a row is the product with that id in that marketplace.
func (v *View) IsProduct(row uint32, marketplace uint16, text []byte) bool {
	r := v.products.at(row)
	return r.Marketplace == marketplace && bytes.Equal(textAt(v.texts, r.key, r.keyLen), text)
}

// ProductRow returns a product's row.
func (v *View) ProductRow(row uint32) *ProductRow { return v.products.at(row) }

// Key returns a product's id.
func (v *View) Key(r *ProductRow) []byte { return textAt(v.texts, r.key, r.keyLen) }

// Bids returns the bids that target a product, in no particular order.
func (v *View) Bids(r *ProductRow) []BidRow { return bidsAt(v.bids, r.block, r.Bids) }

// Campaign returns a campaign's row.
func (v *View) Campaign(row uint32) *CampaignRow { return v.campaigns.at(row) }

// HasAttribute reports whether a product's metadata contains the "key:value" with that hash.
func (v *View) HasAttribute(r *ProductRow, hash uint64) bool {
	detail := wordsAt(v.details, r.details)
	if len(detail) == 0 {
		return false
	}
	from := 2 + detail[0]
	return hasHash(detail[from:from+2*detail[from-1]], hash)
}

// HasPromotion reports whether a product's metadata contains the promotion with that hash.
func (v *View) HasPromotion(r *ProductRow, hash uint64) bool {
	detail := wordsAt(v.details, r.details)
	if len(detail) == 0 {
		return false
	}
	from := 2 + detail[0]
	return hasHash(detail[from+2*detail[from-1]:], hash)
}

func hasHash(words []uint32, hash uint64) bool {
	for i := 0; i < len(words); i += 2 {
		if uint64(words[i])|uint64(words[i+1])<<32 == hash {
			return true
		}
	}
	return false
}

// Predicate returns the location of a bid, 0 for everywhere, and the triggers that its flags do not express: pairs of a
// TriggerKind and the row of a category, product or keyword.
func (v *View) Predicate(t Terms) (location uint32, triggers []uint32) {
	list := wordsAt(v.predicates, uint32(t&predicateMask))
	if len(list) == 0 {
		return 0, nil
	}
	return list[0], list[1:]
}

// IsLocation reports whether a location has that hash and text, ignoring case.
func (v *View) IsLocation(location uint32, hash uint64, text []byte) bool {
	r := v.locations.at(location)
	return r.hash == hash && bytes.EqualFold(textAt(v.texts, r.key, r.keyLen), text)
}

// LocationContains reports whether a location is an H3 cell that equals or contains the given cell.
func (v *View) LocationContains(location uint32, cell h3.Cell) bool {
	own := v.locations.at(location).cell
	return own != 0 && own.Contains(cell)
}

// Floors returns the reserve rules of a marketplace. REQUIRES: the marketplace exists.
func (v *View) Floors(marketplace uint16) []Floor { return v.markets[marketplace].floors }

// HasKeywords reports whether any bid has, or had, a keyword.
func (v *View) HasKeywords() bool { return v.words.count > 0 }
