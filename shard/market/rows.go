package market

import (
	"slices"
	"unsafe"

	"github.com/gavel-ads/gavel/shard/h3"
)

// rows is an array of rows that grows at its end and whose published part is copied before it is changed, chunk by
// chunk, at most once between two publications. The spine of chunk pointers is copied with the first of them. So one
// change among a million rows costs the copy of one chunk and of 2,000 pointers, and a bulk load copies nothing twice.
//
// INVARIANT: memory that a published view can reach (rows below shown) is never written again.
type rows[T any] struct {
	frozen[T]
	owned      []uint64 // By chunk: the edition that made it private to the writer.
	spineOwned uint64
	shown      uint32 // Rows that the last published view has.
}

// frozen is the part of rows that a view keeps.
type frozen[T any] struct {
	spine []*[chunkRows]T
	count uint32
}

const (
	chunkBits = 9 // Chunk and spine are about equal in bytes at a million rows of 32 bytes.
	chunkRows = 1 << chunkBits
)

// at returns row i. Written as an index into the chunk, the compiler would first test the chunk's pointer by reading its first
// byte: a line that nobody needs, from memory, for every row. The spine holds no nil pointer.
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

// edit returns row i for writing. The pointer is good until the next publication.
func (r *rows[T]) edit(i uint32, edition uint64) *T {
	chunk := i >> chunkBits
	if i < r.shown && r.owned[chunk] != edition {
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

// freeze returns what the next view keeps. The caller then begins a new edition.
func (r *rows[T]) freeze() frozen[T] {
	r.shown = r.count
	return r.frozen
}

// ProductRow is one interned product id. Rows are added when an id is first mentioned, by a product, a bid or a trigger,
// and are never removed.
type ProductRow struct {
	Quality     uint32 // In units of 1/QualityOne.
	Bids        uint32 // How many bids target the product.
	Campaign    uint32 // Of the first of them, 0 without one: so that its row need not wait for the bid's.
	block       uint32 // The first of them in the bid arena.
	details     uint32 // Categories and metadata in the word arena, 0 none.
	key         uint32 // The id in the byte arena.
	keyLen      uint16
	Marketplace uint16
	room        uint16 // Free rows behind the bids.
	Flags       ProductFlags
	_           byte
}

// ProductFlags are the states of a product row.
type ProductFlags uint8

// The product flags.
const (
	ProductKnown   ProductFlags = 1 << iota // It is in the catalog.
	ProductActive                           // It is in the catalog and active.
	ProductClean                            // Its id needs no JSON escaping.
	productListed                           // It stands in the member lists of its categories.
	productOffered                          // It has had a bid; its table entry says so too.
)

// BidRow is one bid, in the block of the product that it targets or of the place where it is shown.
type BidRow struct {
	Amount   int64 // Micros per charged unit (1,000 impressions for CPM).
	Campaign uint32
	Ordinal  uint32 // In the raft group.
	Terms    Terms
	Ad       uint32 // What a banner or sponsored brand shows; 0 for a listing.
}

// Terms packs when a bid competes: flags, and where its location and further triggers lie.
type Terms uint32

// The flags of Terms. The low 28 bits are the place of the bid's predicate in the view, 0 none.
const (
	BidActive            Terms = 1 << (28 + iota)
	TriggerNone                // The bid has no trigger: it matches whatever its target is allowed in.
	TriggerOwn                 // A product trigger on the target itself.
	TriggerOwnCategories       // A categories trigger from the target itself.

	predicateMask Terms = 1<<28 - 1
)

// CampaignRow is what a gate needs of a campaign.
type CampaignRow struct {
	StartMillis int64
	EndMillis   int64 // math.MaxInt64 when the campaign has no end.
	Vendor      uint32
	Ordinal     uint32 // In the raft group.
	Marketplace uint16
	Group       uint16
	Shard       uint8
	Flags       CampaignFlags
	Charge      ChargeType
	Price       PriceRule
}

// CampaignFlags are the states of a campaign row.
type CampaignFlags uint8

// The campaign flags.
const (
	CampaignActive   CampaignFlags = 1 << iota // Switched on, not terminated, and of a charge type that is charged.
	CampaignApproved                           // Passed review.
	CampaignTermed                             // Has CampaignTerms.
	CampaignCounted                            // Not terminated and not supposed; see Usage.
)

// categoryRow is one interned category id.
type categoryRow struct {
	// members are the products with bids that name this category itself; stale and repeated ones are possible.
	members []uint32
	parent  uint32 // noCategory without one.
	// The categories of the subtree stand at positions from up to before to of the view's walk. Empty when unknown.
	from, to    uint32
	key         uint32
	keyLen      uint16
	marketplace uint16
	stale       uint32
	known       bool
}

const noCategory = ^uint32(0)

// labelRow is one location, its text without case.
type labelRow struct {
	hash   uint64
	cell   h3.Cell // 0 when the text is no cell.
	key    uint32
	keyLen uint16
}

// The build fails when a row grows: ten million bids are 240 MB of bid rows.
const (
	_ = -(unsafe.Sizeof(ProductRow{}) ^ 32)
	_ = -(unsafe.Sizeof(BidRow{}) ^ 24)
	_ = -(unsafe.Sizeof(CampaignRow{}) ^ 32)
)
