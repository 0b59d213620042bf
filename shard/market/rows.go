package market

import (
	"slices"
	"unsafe"

	"github.com/gavel-ads/gavel/shard/h3"
	"github.com/gavel-ads/gavel/shard/model"
)

// rows is an array of rows that grows at its end. Before a row that is part of a published view is changed, its chunk
// is copied, at most once between two publications. The spine of chunk pointers is copied with the first chunk. So one
// change among a million rows copies one chunk and 2,000 pointers, and a bulk load copies nothing twice.
//
// INVARIANT: memory that a published view can reach (rows below publishedRows) is never written again.
type rows[T any] struct {
	frozen[T]
	owned         []uint64 // By chunk: the edition in which it was copied.
	spineOwned    uint64   // The edition in which the spine was copied.
	publishedRows uint32   // Number of rows in the last published view.
}

// frozen is the part of rows that a view keeps.
type frozen[T any] struct {
	spine []*[chunkRows]T
	count uint32
}

const (
	chunkBits = 9 // With a million rows of 32 bytes, a chunk and the spine have about the same size.
	chunkRows = 1 << chunkBits
)

// at returns row i. It computes the address because for an index into the chunk the compiler would first read the
// chunk's first byte as a nil check, which loads an unneeded cache line for every row. The spine contains no nil
// pointer.
func (f *frozen[T]) at(i uint32) *T {
	var row T
	return (*T)(unsafe.Add(unsafe.Pointer(f.spine[i>>chunkBits]), uintptr(i%chunkRows)*unsafe.Sizeof(row)))
}

// add appends a zero row and returns its index.
func (r *rows[T]) add() uint32 {
	i := r.count
	if i%chunkRows == 0 {
		r.spine = append(r.spine, new([chunkRows]T))
		r.owned = append(r.owned, 0)
	}
	r.count++
	return i
}

// edit returns row i for writing. OWNERSHIP: the pointer is valid until the next publication.
func (r *rows[T]) edit(i uint32, edition uint64) *T {
	chunk := i >> chunkBits
	if i < r.publishedRows && r.owned[chunk] != edition {
		if r.spineOwned != edition {
			r.spine = slices.Clone(r.spine)
			r.spineOwned = edition
		}
		copied := *r.spine[chunk]
		r.spine[chunk] = &copied
		r.owned[chunk] = edition
	}
	return r.at(i)
}

// freeze returns the part that the next view keeps. REQUIRES: the caller then begins a new edition.
func (r *rows[T]) freeze() frozen[T] {
	r.publishedRows = r.count
	return r.frozen
}

// ProductRow is one interned product id. A row is added when a product, bid or trigger first mentions the id, and is
// never removed.
type ProductRow struct {
	Quality     uint32 // In units of 1/QualityOne.
	Bids        uint32 // Number of bids that target the product.
	Campaign    uint32 // Campaign row of the first bid, 0 without bids. It allows loading that row before the bid is loaded.
	block       uint32 // Number of the block of bids in the bid arena.
	details     uint32 // Reference to categories and metadata in the word arena, 0 for none.
	key         uint32 // Reference to the id in the byte arena.
	keyLen      uint16
	Marketplace uint16
	freeRows    uint16 // Number of free rows behind the bids.
	Flags       ProductFlags
	_           byte
}

// ProductFlags are the states of a product row.
type ProductFlags uint8

// The product flags.
const (
	ProductKnown      ProductFlags = 1 << iota // The product is in the catalog.
	ProductActive                              // The product is in the catalog and active.
	ProductIDJSONSafe                          // The id needs no JSON escaping.
	productListed                              // The product is in the member lists of its categories.
	productHadBid                              // The product has had a bid; its table entry has the mark hadBid.
	// ProductExclusive is set while the row has a bid of an exclusive campaign.
	ProductExclusive
)

// BidRow is one bid, in the block of the product that it targets or of the place where it is shown.
type BidRow struct {
	Amount   int64  // Micros per charged unit (1,000 impressions for CPM). For autobidding it is the base bid.
	Campaign uint32 // Row of the campaign.
	Ordinal  uint32 // Ordinal in the Raft group.
	Terms    Terms
	Ad       uint32 // Number of the creative of a banner or sponsored brand; 0 for a listing.
}

// Terms packs the conditions under which a bid competes: flags, and a reference to its location and further triggers.
type Terms uint32

// The flags of Terms. The low 28 bits refer to the bid's predicate (View.Predicate), 0 for none.
const (
	BidActive            Terms = 1 << (28 + iota)
	TriggerNone                // The bid has no trigger, so it matches every request that allows its target.
	TriggerOwn                 // The bid has a product trigger on its own target.
	TriggerOwnCategories       // The bid has a categories trigger with its own target.

	predicateMask Terms = 1<<28 - 1
)

// CampaignRow is what the gates of auctions read of a campaign.
type CampaignRow struct {
	StartMillis int64
	EndMillis   int64 // math.MaxInt64 when the campaign has no end.
	Vendor      uint32
	Ordinal     uint32 // Ordinal in the Raft group.
	Marketplace uint16
	Group       uint16
	Shard       uint8
	Flags       CampaignFlags
	Charge      model.ChargeType
	Price       model.PriceRule
}

// CampaignFlags are the states of a campaign row.
type CampaignFlags uint8

// The campaign flags.
const (
	CampaignActive    CampaignFlags = 1 << iota // Switched on, not terminated, and of a charge type that is charged.
	CampaignApproved                            // Passed review.
	CampaignHasTerms                            // The campaign has CampaignTerms.
	CampaignCounted                             // Counted in Usage: not terminated, and not the campaign of a WhatIf.
	CampaignExclusive                           // The campaign is exclusive.
	CampaignHoldout                             // Some users never see the campaign; its terms have the Holdout.
)

// categoryRow is one interned category id.
type categoryRow struct {
	// members are the products with bids that name this category itself; some entries may be stale or repeated.
	members []uint32
	parent  uint32 // noCategory at a root.
	// The categories of the subtree have the positions [from, to) of the view's walk; from equals to for an unknown
	// category.
	from, to    uint32
	key         uint32
	keyLen      uint16
	marketplace uint16
	stale       uint32
	known       bool
}

const noCategory = ^uint32(0)

// locationRow is one location; its text is case-folded.
type locationRow struct {
	hash   uint64
	cell   h3.Cell // 0 when the text is not an H3 cell.
	key    uint32
	keyLen uint16
}

// The build fails when the size of a row changes, because ten million bids are already 240 MB of bid rows.
const (
	_ = -(unsafe.Sizeof(ProductRow{}) ^ 32)
	_ = -(unsafe.Sizeof(BidRow{}) ^ 24)
	_ = -(unsafe.Sizeof(CampaignRow{}) ^ 32)
)
