package auction

import (
	"unsafe"

	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/h3"
	"github.com/gavel-ads/gavel/shard/keyword"
	"github.com/gavel-ads/gavel/shard/market"
)

// Scratch is the memory of an auction, reused by the next one so that nothing is allocated once it is warm. The zero
// value is ready.
// OWNERSHIP: pooled by the caller; between requests it refers to neither view nor request.
type Scratch struct {
	v        *market.View
	t        *Ticket
	req      *Request
	settings *market.Marketplace
	minor    uint64 // One minor unit in micros.

	a           *Auction
	seed        uint64 // Of the auction's ties.
	requestSeed uint64 // Of pacing.
	hour        int    // Local hour of the week.
	searched    bool   // A listing auction with a search and nothing else.
	travels     bool   // A travel auction without products.
	payload     bidid.Payload

	query      []uint32 // The numbers of the words of the search.
	words      keyword.Normalizer
	cells      []h3.Cell
	segments   stamps // Answers of isIn.
	floors     [market.ChargeTypes]uint64
	floorRules []floorRule
	place      *market.Place
	key        []byte
	pairSeen   stamps
	pairs      []uint32

	picked     []uint32 // See lookUp.
	found      []found
	ends       []int
	hits       []hit
	candidates []candidate
	types      chargeTypes
	rowSeen    stamps // Hits by product row.
	idSeen     stamps // Positions of the request's ids by hash, filled when a trigger asks.
	idsAdded   bool
	wanted     expression
	top        [topMax]uint32 // Hits by best bid, best first.
	ranked     int
	won        [SlotsMax]uint32 // Candidates by rank.
	order      []uint32         // Candidates by score, under a cap per vendor.
	ahead      market.Ahead
}

// hit is a product that may win.
type hit struct {
	row      uint32
	index    uint32 // Position in the request's ids, fromCategory if there is none.
	quality  uint64 // Request times product, in units of 1/qualityOne.
	best     int32  // The best candidate, none without one.
	other    int32  // The best candidate of another vendor than best's.
	eligible uint32 // Candidates of the product.
	next     uint32 // The product's next pair, of flights.
	filter   verdict
	category verdict
	dead     bool // The id is not the product's after all.
	inTop    bool
	follows  bool // A pair that is not the head of its product's.
}

const (
	fromCategory = ^uint32(0)
	none         = int32(-1)
)

// verdict is the answer to a question about a product that is asked at most once.
type verdict uint8

const (
	unasked verdict = iota
	yes
	no
)

// candidate is a bid that passed the gates.
type candidate struct {
	hi, lo   uint64 // Score.
	tie      uint64 // Decides between equal scores.
	key      uint64 // Names the bid on every node: group and ordinal, or external and position.
	amount   uint64
	hit      uint32
	campaign uint32 // Row; 0 for an external bid.
	vendor   uint32
	ad       uint32
	click    uint32 // Predicted, 0 for the prior.
	charge   market.ChargeType
	held     bool // The cap per vendor kept it from a slot.
}

// externalKey marks the key of an external bid, externalVendor stands for its vendor, who is none of the market's.
const (
	externalKey    = 1 << 63
	externalVendor = ^uint32(0)
)

func (s *Scratch) begin(v *market.View, t *Ticket, req *Request, settings *market.Marketplace) {
	s.v, s.t, s.req, s.settings = v, t, req, settings
	if settings == nil {
		return
	}
	s.askForFew()
	s.minor = minorUnit(settings)
	s.requestSeed = seedOf(t, t.Seq)
	s.hour = weekHour(s.localMillis())
	s.payload = bidid.Payload{Marketplace: t.Marketplace, Node: t.Node, Epoch: t.Epoch, IssuedMillis: t.NowMillis}
	t.Signer.Begin(&s.payload)
}

// keptMax bounds the memory that a scratch keeps from one request to the next. BOUND: about 16,000 products with bids; one
// auction over a huge category must not pin its memory in every pooled scratch.
const keptMax = 4 << 20

// end lets go of what belongs to the request, and of the arrays of an unusually large one.
func (s *Scratch) end() {
	s.v, s.t, s.req, s.settings, s.a, s.place = nil, nil, nil, nil, nil, nil
	if s.size() > keptMax {
		*s = Scratch{}
	}
}

// size is about how many bytes the arrays take.
func (s *Scratch) size() int {
	return cap(s.picked)*int(unsafe.Sizeof(uint32(0))) +
		cap(s.found)*int(unsafe.Sizeof(found{})) +
		cap(s.hits)*int(unsafe.Sizeof(hit{})) +
		cap(s.candidates)*int(unsafe.Sizeof(candidate{})) +
		(cap(s.query)+cap(s.pairs)+cap(s.order))*int(unsafe.Sizeof(uint32(0))) +
		(len(s.rowSeen.slots)+len(s.idSeen.slots)+len(s.pairSeen.slots)+len(s.segments.slots))*int(unsafe.Sizeof(stamp{}))
}

// seedOf derives the seed of an auction's ties from its number.
func seedOf(t *Ticket, seq uint64) uint64 {
	return market.Mix(uint64(t.Marketplace)<<48|uint64(t.Node)<<32|uint64(t.Epoch), seq)
}

// run holds auction i.
func (s *Scratch) run(i int, out *Result, seq uint64) {
	s.prepare(i, seq)
	s.collect(i)
	if s.place != nil {
		s.admitAds(out)
	} else {
		for i := range s.hits {
			if !s.hits[i].follows {
				s.admit(uint32(i), out) //nolint:gosec // fewer hits than 2^32.
			}
		}
		s.admitExternal(out)
	}
	s.score()
	s.rank()
	for !s.confirm() {
		s.rank()
	}
	s.award(out)
	s.countLosers(out)
}

// prepare reads what all bids of auction i are compared with.
func (s *Scratch) prepare(i int, seq uint64) {
	s.a = &s.req.Auctions[i]
	s.payload.Seq = seq
	s.seed = seedOf(s.t, seq)
	s.hits = s.hits[:0]
	s.candidates = s.candidates[:0]
	s.types = 0
	s.idsAdded = false
	s.wanted.reset()
	s.segments.clear()
	kind, named := s.a.Kind, s.a.HasProducts || s.a.Category.Form != NoCategory
	s.searched = kind == Listings && s.a.HasSearch && !named
	s.travels = (kind == Hotels || kind == Flights) && !s.a.HasProducts
	s.readQuery()
	s.readCells()
	s.findPlace()
	s.setFloors()
}
