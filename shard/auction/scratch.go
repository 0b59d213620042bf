package auction

import (
	"unsafe"

	"github.com/gavel-ads/gavel/shard/bidid"
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

	a       *Auction
	seed    uint64 // Of the auction's ties.
	payload bidid.Payload

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
	touched    uint64 // Keeps loads that nobody uses from being left out.
}

// hit is a product that may win.
type hit struct {
	row      uint32
	index    uint32 // Position in the request's ids, fromCategory if there is none.
	quality  uint64 // Request times product, in units of 1/qualityOne.
	best     int32  // The best candidate, none without one.
	other    int32  // The best candidate of another vendor than best's.
	eligible uint32 // Candidates of the product.
	filter   verdict
	category verdict
	dead     bool // The id is not the product's after all.
	inTop    bool
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
	charge   market.ChargeType
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
	s.minor = minorUnit(settings)
	s.payload = bidid.Payload{Marketplace: t.Marketplace, Node: t.Node, Epoch: t.Epoch, IssuedMillis: t.NowMillis}
	t.Signer.Begin(&s.payload)
}

// keptMax bounds the memory that a scratch keeps from one request to the next. BOUND: about 16,000 products with bids; one
// auction over a huge category must not pin its memory in every pooled scratch.
const keptMax = 4 << 20

// end lets go of what belongs to the request, and of the arrays of an unusually large one.
func (s *Scratch) end() {
	s.v, s.t, s.req, s.settings, s.a = nil, nil, nil, nil, nil
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
		(len(s.rowSeen.slots)+len(s.idSeen.slots))*int(unsafe.Sizeof(stamp{}))
}

// run holds auction i.
func (s *Scratch) run(i int, out *Result, seq uint64) {
	s.a = &s.req.Auctions[i]
	s.payload.Seq = seq
	s.seed = market.Mix(uint64(s.t.Marketplace)<<48|uint64(s.t.Node)<<32|uint64(s.t.Epoch), seq)
	s.hits = s.hits[:0]
	s.candidates = s.candidates[:0]
	s.types = 0
	s.idsAdded = false
	s.wanted.reset()

	s.collect(i)
	for i := range s.hits {
		s.admit(uint32(i), out) //nolint:gosec // fewer hits than 2^32.
	}
	s.admitExternal(out)
	s.score()
	s.rank()
	s.touchWinners()
	for !s.confirm() {
		s.rank()
	}
	s.award(out)
	s.countLosers(out)
}
