package metrics

import (
	"sync/atomic"
	"time"
)

// stripeCount is the number of copies of the traffic counters. BOUND: workers beyond it share a stripe, which costs
// contended adds; more copies cost memory and scrape time.
const stripeCount = 64

// Stripe is one copy of the traffic counters. Workers that run on different processors write to different stripes, so
// that an add does not wait for another core's cache line; a scrape sums all stripes.
//
// A counter is never stored only in a pooled object: sync.Pool drops its objects at a garbage collection, and the
// counts with them. So a request counts in its own scratch memory, and at its end adds to the stripe what is not zero.
type Stripe struct {
	l     *layout
	words []atomic.Uint64
}

// layout is the position of each counter in a stripe: position = start + index.
type layout struct {
	v        Vocabulary
	requests int // [operation][code]
	seconds  int // [operation][histogram words]
	reasons  int // [reason]
	events   int // [kind][outcome]
	charged  int // [slot of the currency]
	clipped  int // [slot of the currency]
	singles  int // [single]
	size     int

	currencies *currencies
}

// single is a counter without labels, or with a label that has few fixed values.
type single int

const (
	auctionsSingle single = iota
	winnersSingle
	panicsSingle
	framesSingle
	unauthorizedSingle
	forbiddenSingle
	singles = int(forbiddenSingle) + 1
)

const wordsPerLine = 8

func newLayout(v Vocabulary) layout {
	l := layout{v: v, currencies: newCurrencies()}
	reserve := func(n int) (start int) {
		start = l.size
		l.size = (l.size + n + wordsPerLine - 1) / wordsPerLine * wordsPerLine
		return start
	}
	l.singles = reserve(singles)
	l.reasons = reserve(len(v.Reasons))
	l.requests = reserve(len(v.Operations) * len(v.Codes))
	l.seconds = reserve(len(v.Operations) * histogramWords)
	l.events = reserve(len(v.EventKinds) * len(v.Outcomes))
	l.charged = reserve(currenciesMax)
	l.clipped = reserve(currenciesMax)
	return l
}

func newStripes(l *layout) []Stripe {
	// One allocation: l.size is a whole number of cache lines, and an extra line separates adjacent stripes whatever the
	// alignment of the allocation.
	stride := l.size + wordsPerLine
	words := make([]atomic.Uint64, stride*stripeCount)
	stripes := make([]Stripe, stripeCount)
	for i := range stripes {
		stripes[i] = Stripe{l: l, words: words[i*stride : i*stride+l.size]}
	}
	return stripes
}

// Request counts one answered request of an operation with a code, and its duration.
func (s *Stripe) Request(operation, code int, took time.Duration) {
	s.words[s.l.requests+operation*len(s.l.v.Codes)+code].Add(1)
	start := s.l.seconds + operation*histogramWords
	s.words[start+bucketOf(took)].Add(1)
	s.words[start+sumWord].Add(uint64(max(took, 0))) // Not negative.
}

// Auctions counts the auctions of one request, their winners and their losses; lost is indexed by reason.
func (s *Stripe) Auctions(auctions, winners int, lost []uint32) {
	s.add(auctionsSingle, uint64(auctions))
	s.add(winnersSingle, uint64(winners))
	for reason, n := range lost {
		if n != 0 {
			s.words[s.l.reasons+reason].Add(uint64(n))
		}
	}
}

// Event counts one committed event and its money, in micro-units of a currency. REQUIRES: currency is a code that a
// marketplace has been given by an operator.
func (s *Stripe) Event(kind, outcome int, currency string, chargedMicros, clippedMicros int64) {
	s.words[s.l.events+kind*len(s.l.v.Outcomes)+outcome].Add(1)
	if chargedMicros <= 0 && clippedMicros <= 0 {
		return
	}
	slot := s.l.currencies.slot(currency)
	s.words[s.l.charged+slot].Add(uint64(max(chargedMicros, 0))) // Not negative.
	s.words[s.l.clipped+slot].Add(uint64(max(clippedMicros, 0)))
}

// Unauthorized counts a request without a valid key.
func (s *Stripe) Unauthorized() { s.add(unauthorizedSingle, 1) }

// Forbidden counts a request with a valid key of the wrong kind.
func (s *Stripe) Forbidden() { s.add(forbiddenSingle, 1) }

// Panic counts a panic that was caught while a request was served.
func (s *Stripe) Panic() { s.add(panicsSingle, 1) }

// RefusedFrame counts a request that was refused for its framing.
func (s *Stripe) RefusedFrame() { s.add(framesSingle, 1) }

func (s *Stripe) add(which single, n uint64) {
	if n != 0 {
		s.words[s.l.singles+int(which)].Add(n)
	}
}

// sum returns the sum of one word over all stripes.
func sum(stripes []Stripe, word int) uint64 {
	var total uint64
	for i := range stripes {
		total += stripes[i].words[word].Load()
	}
	return total
}
