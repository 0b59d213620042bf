package auction

import (
	"unsafe"

	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/h3"
	"github.com/gavel-ads/gavel/shard/keyword"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// Scratch is the working memory of auctions. It is reused, so that nothing is allocated once it has grown. The zero
// value is ready to use.
// OWNERSHIP: pooled by the caller; between requests it refers to neither a view nor a request.
type Scratch struct {
	v        *market.View
	t        *Params
	req      *Request
	settings *model.Marketplace
	rules    []market.Floor // Reserve rules.
	// The marketplace's experiment, nil when none runs, and what it changes in this auction.
	experiment     *market.Experiment
	noAds, unpaced bool
	minor          uint64 // One minor unit in micros.

	a           *Auction
	seed        uint64 // Seed of the auction's ties.
	requestSeed uint64 // Seed of the pacing decisions.
	nodes       uint64 // The number of nodes that serve auctions.
	// earlier holds the results of the earlier auctions of the request, and earlierCost the expected cost of their winners.
	// cost is that of this auction's winners so far, too.
	earlier           []Result
	earlierCost, cost uint64
	hour              int  // Local hour of the week, from Monday 00:00.
	searchOnly        bool // A listing auction with a search query and neither products nor a category.
	travelOnly        bool // A hotel or flight auction without product ids.
	payload           bidid.Payload
	average           averageAd // The zero value until it is read.

	query      []uint32 // The numbers of the words of the search query.
	words      keyword.Normalizer
	cells      []h3.Cell
	segments   generationMap // Results of inSegment by segment.
	floors     [model.ChargeTypes]uint64
	floorRules []floorRule
	place      *market.Place
	key        []byte
	pairSeen   generationMap
	pairs      []uint32

	prefiltered    []uint32 // Positions of the ids that may be in the product table (prefilter).
	found          []found
	ends           []int
	hits           []hit
	candidates     []candidate
	losers         []loser     // Bids that failed a gate, if losers are counted.
	held           []candidate // Bids that passed the gates and were held back.
	enrolled       []enrolment // Users to be enrolled, of this auction.
	types          chargeTypes
	sponsoredAds   []uint32      // The products that exclusive campaigns have at the place, if sponsoredKnown.
	hitByRow       generationMap // Indexes in hits by product row, or by entity for the auction of a place.
	positionByID   generationMap // Positions of the auction's ids by hash, filled when a trigger first needs them.
	idsAdded       bool
	sponsoredKnown bool
	categories     expression
	top            [topMax]uint32 // The best hits, ordered by their best bid.
	ranked         int
	won            [SlotsMax]uint32 // Candidates by rank.
	order          []uint32         // Candidates by score, under a cap per vendor.
	prefetcher     market.Prefetcher
}

// hit is an entity that may win: a product, a pair of product and variation, or a campaign's target.
type hit struct {
	row           uint32 // Product row, market.NoProduct if it is not a product.
	index         uint32 // Position in the auction's ids, fromCategory if there is none.
	quality       uint64 // Quality of the request times that of the product, in units of 1/model.QualityOne^2.
	best          int32  // Index of the best candidate, none without one.
	other         int32  // Index of the best candidate of another vendor than that of best.
	eligible      uint32 // Number of candidates.
	next          uint32 // The product's next pair in a flight auction, lastPair at the end.
	filter        cachedAnswer
	category      cachedAnswer
	sponsored     cachedAnswer
	wrongID       bool // The id in the request only has the same hash as the product's id.
	inTop         bool
	secondaryPair bool // A pair that is not the head of its product's list of pairs.
}

const (
	fromCategory = ^uint32(0)
	none         = int32(-1)
)

// cachedAnswer is the answer to a question about a product that is computed at most once for each auction.
type cachedAnswer uint8

const (
	unasked cachedAnswer = iota
	yes
	no
)

// candidate is a bid that passed the gates.
type candidate struct {
	hi, lo        uint64 // Score.
	tie           uint64 // Decides between equal scores; the smaller one wins.
	key           uint64 // The same on every node: group and ordinal, or externalKey and position.
	amount        uint64
	hit           uint32 // Index in hits.
	campaign      uint32 // Row; 0 for an external bid.
	vendor        uint32
	ad            uint32 // Number of the creative, 0 for a product.
	click         uint32 // Predicted click rate in units of 1/2^32; 0 until it is read.
	charge        model.ChargeType
	reason        Reason // Of a bid that was held back.
	overVendorCap bool   // It loses only because of the cap per vendor.
}

// externalKey marks the key of an external bid. externalVendor is the vendor of all external bids; it is no vendor of
// the market.
const (
	externalKey    = 1 << 63
	externalVendor = ^uint32(0)
)

// begin prepares a request.
func (s *Scratch) begin(v *market.View, t *Params, req *Request, settings *model.Marketplace) {
	s.v, s.t, s.req, s.settings = v, t, req, settings
	if settings == nil {
		return
	}
	s.prefetchSmall()
	s.minor = minorUnit(settings)
	s.beginExperiment()
	s.requestSeed = seedOf(t, t.Seq)
	s.nodes, s.cost = uint64(v.ServingNodes()), 0
	s.average = averageAd{}
	s.hour = weekHour(s.localMillis())
	s.payload = bidid.Payload{Marketplace: t.Marketplace, Node: t.Node, Epoch: t.Epoch, IssuedMillis: t.NowMillis}
	t.Signer.Begin(&s.payload)
}

// keptMax bounds the memory in bytes that a Scratch keeps from one request to the next. BOUND: enough for about 16,000
// products with bids; after an auction over a huge category, a pooled Scratch must not keep that much memory.
const keptMax = 4 << 20

// end drops the references to the request and, after an unusually large request, the arrays.
func (s *Scratch) end() {
	s.v, s.t, s.req, s.settings, s.a, s.place, s.earlier, s.rules, s.experiment = nil, nil, nil, nil, nil, nil, nil, nil, nil
	if s.size() > keptMax {
		*s = Scratch{}
	}
}

// size returns roughly how many bytes the arrays take.
func (s *Scratch) size() int {
	return cap(s.prefiltered)*int(unsafe.Sizeof(uint32(0))) +
		cap(s.found)*int(unsafe.Sizeof(found{})) +
		cap(s.hits)*int(unsafe.Sizeof(hit{})) +
		cap(s.candidates)*int(unsafe.Sizeof(candidate{})) +
		cap(s.losers)*int(unsafe.Sizeof(loser{})) +
		cap(s.held)*int(unsafe.Sizeof(candidate{})) +
		cap(s.enrolled)*int(unsafe.Sizeof(enrolment{})) +
		(cap(s.query)+cap(s.pairs)+cap(s.order)+cap(s.sponsoredAds))*int(unsafe.Sizeof(uint32(0))) +
		(len(s.hitByRow.entries)+len(s.positionByID.entries)+len(s.pairSeen.entries)+len(s.segments.entries))*int(unsafe.Sizeof(generationEntry{}))
}

// seedOf derives the seed of an auction's ties from its number.
func seedOf(t *Params, seq uint64) uint64 {
	return market.Mix(uint64(t.Marketplace)<<48|uint64(t.Node)<<32|uint64(t.Epoch), seq)
}

// run runs auction i.
func (s *Scratch) run(i int, out *Result, seq uint64) {
	s.prepare(i, seq)
	s.collect(i)
	if s.place != nil {
		s.gatePlaceBids(out)
	} else {
		for i := range s.hits {
			if !s.hits[i].secondaryPair {
				s.gateBids(uint32(i), out) // Fewer hits than 2^32.
			}
		}
		s.gateExternalBids(out)
	}
	s.score()
	s.rank()
	for !s.confirm() {
		s.rank()
	}
	s.award(out)
	s.countLosers(out)
	if len(s.held) > 0 {
		s.compareHeld(out)
	}
}

// prepare computes what all bids of auction i are compared with.
func (s *Scratch) prepare(i int, seq uint64) {
	s.a = &s.req.Auctions[i]
	s.treat()
	s.payload.Seq = seq
	s.seed = seedOf(s.t, seq)
	s.hits = s.hits[:0]
	s.candidates = s.candidates[:0]
	s.losers, s.held, s.enrolled = s.losers[:0], s.held[:0], s.enrolled[:0]
	s.types = 0
	s.idsAdded, s.sponsoredKnown = false, false
	s.categories.reset()
	s.segments.clear()
	kind, named := s.a.Kind, s.a.HasProducts || s.a.Category.Form != NoCategory
	s.searchOnly = kind == Listings && s.a.HasSearch && !named
	s.travelOnly = (kind == Hotels || kind == Flights) && !s.a.HasProducts
	s.readQuery()
	s.readCells()
	s.findPlace()
	s.setFloors()
}
