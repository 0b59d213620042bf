package serving

import (
	"bytes"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/command"
)

// Bounds of what is copied for those who watch live auctions.
const (
	liveEvery   = 50 * time.Millisecond // Between two samples of a watch: at most 20 a second.
	liveBodyMax = 16 << 10              // BOUND: bytes of a body; a longer one is left out of the sample.
	liveQueue   = 32                    // BOUND: samples that wait for their receiver; more are dropped.
)

// live are those who watch live auctions of this node. While there are none, a request costs one atomic load. A request never waits for
// a receiver: a sample is dropped when its queue is full.
//
// LOCKS: mu serialises changes of the list; requests only load it.
type live struct {
	watches atomic.Pointer[[]*Watch] // nil while nobody watches.
	mu      sync.Mutex
}

// Watch receives samples of the auctions and events of one marketplace on this node, and counts all of them. Close ends it.
type Watch struct {
	Samples <-chan LiveSample
	Events  <-chan LiveEvents // Nothing is sent before SampleEvents.

	samples     chan LiveSample
	reports     chan LiveEvents
	of          *live
	marketplace uint16
	next        atomic.Int64 // The earliest time of the next sample, in Unix nanoseconds.
	nextReport  atomic.Int64 // The same of events; endOfTime while they are not sampled.
	auctions    atomic.Uint64
	slots       atomic.Uint64 // Wanted by the auctions.
	winners     atomic.Uint64
	events      atomic.Uint64
	charged     atomic.Int64 // In micros.
	duplicate   atomic.Uint64
	late        atomic.Uint64
	refused     [apierr.Codes]atomic.Uint64 // Requests for events, by the code of their answer.
}

// endOfTime is after every request, in Unix nanoseconds.
const endOfTime = math.MaxInt64

// LiveSample is one request for auctions with its results.
type LiveSample struct {
	At        time.Time
	RequestID string
	Operation string
	Auctions  []LiveAuction
	Body      []byte // Empty if it was too large.
}

// LiveAuction is one auction of a LiveSample. The members are named as those of an ExplainedAuction.
type LiveAuction struct {
	ResultType string            `json:"resultType"`
	Slots      int               `json:"slots"`
	Winners    int               `json:"winners"`
	Lost       map[string]uint32 `json:"lost"`
	Ads        []LiveAd          `json:"ads"`
}

// LiveAd is a winner.
type LiveAd struct {
	Rank       int    `json:"rank"`
	Type       string `json:"type"`
	ID         string `json:"id"`
	CampaignID string `json:"campaignId,omitempty"` // Empty for external demand, as is the ResolvedBidID.
	// ResolvedBidID is the id that the events of the ad send back.
	ResolvedBidID string `json:"resolvedBidId,omitempty"`
}

// LiveEvents is one request that reported events.
type LiveEvents struct {
	At        time.Time
	RequestID string
	Code      apierr.Code // OK: all its events were committed.
	Answer    []byte      // Of a refusal: the error object.
	Events    []LiveEvent // Empty for a refusal.
	Body      []byte      // Empty if it was too large.
}

// LiveEvent is one committed event.
type LiveEvent struct {
	Kind          string `json:"kind"`
	ID            string `json:"id"`
	Status        string `json:"status"` // As detail=true names it: recorded, duplicate or late.
	ChargedMicros int64  `json:"chargedMicros"`
}

// EventTotals count what a Watch saw of events since it began: the committed ones, and refused requests by errCode.
type EventTotals struct {
	Recorded, Duplicate, Late uint64
	Refused                   map[string]uint64
}

// LiveTotals count what a Watch saw since it began, samples and all other requests.
type LiveTotals struct {
	Auctions, Slots, Winners, Events uint64
	ChargedMicros                    int64
}

// Watch begins to watch the auctions of a marketplace.
func (c *Core) Watch(marketplace uint16) *Watch {
	samples := make(chan LiveSample, liveQueue)
	reports := make(chan LiveEvents, liveQueue)
	w := &Watch{Samples: samples, Events: reports, samples: samples, reports: reports, of: &c.live, marketplace: marketplace}
	w.nextReport.Store(endOfTime)
	c.live.change(func(all []*Watch) []*Watch { return append(all, w) })
	return w
}

// Close ends a watch. Samples gets no more values; it is not closed, because a request may be offering one.
func (w *Watch) Close() {
	w.of.change(func(all []*Watch) []*Watch {
		return slices.DeleteFunc(all, func(x *Watch) bool { return x == w })
	})
}

// SampleEvents begins or ends the sampling of events.
func (w *Watch) SampleEvents(on bool) {
	if on {
		w.nextReport.Store(0)
		return
	}
	w.nextReport.Store(endOfTime)
}

// EventTotals returns what was counted of events so far.
func (w *Watch) EventTotals() EventTotals {
	t := EventTotals{Duplicate: w.duplicate.Load(), Late: w.late.Load(), Refused: map[string]uint64{}}
	t.Recorded = w.events.Load() - t.Duplicate - t.Late
	for code := range w.refused {
		if n := w.refused[code].Load(); n > 0 {
			t.Refused[apierr.Code(code).String()] = n
		}
	}
	return t
}

// Totals returns what was counted so far.
func (w *Watch) Totals() LiveTotals {
	return LiveTotals{w.auctions.Load(), w.slots.Load(), w.winners.Load(), w.events.Load(), w.charged.Load()}
}

// change publishes a changed copy of the list.
func (l *live) change(fn func([]*Watch) []*Watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*Watch
	if now := l.watches.Load(); now != nil {
		all = slices.Clone(*now)
	}
	if all = fn(all); len(all) == 0 {
		l.watches.Store(nil)
		return
	}
	l.watches.Store(&all)
}

// offer shows a request that was answered to those who watch its marketplace.
func (l *live) offer(sc *Scratch) {
	all := l.watches.Load()
	if all == nil || sc.code != apierr.OK && sc.op != OpEvents {
		return
	}
	for _, w := range *all {
		switch {
		case sc.op == OpEvents && w.marketplace == sc.event.marketplace:
			if sc.code == apierr.OK {
				w.countEvents(&sc.event)
			} else {
				w.refused[sc.code].Add(1)
			}
			w.sampleEvents(sc)
		case (sc.op == OpAuctions || sc.op == OpBrands || sc.op == OpTravel) && w.marketplace == sc.ticket.Marketplace:
			w.countAuctions(sc)
			w.sample(sc)
		}
	}
}

func (w *Watch) countAuctions(sc *Scratch) {
	slots, winners := 0, 0
	for i := range sc.results.Results {
		slots += sc.request.Auctions[i].Slots
		winners += len(sc.results.Results[i].Winners)
	}
	w.auctions.Add(uint64(len(sc.results.Results)))
	w.slots.Add(uint64(slots)) // At most 40 an auction.
	w.winners.Add(uint64(winners))
}

func (w *Watch) countEvents(es *eventScratch) {
	var charged int64
	var duplicate, late uint64
	for i := range es.shares {
		for k := range es.shares[i].outcomes {
			o := &es.shares[i].outcomes[k]
			charged += int64(o.Charged)
			switch o.Outcome {
			case command.Duplicate:
				duplicate++
			case command.TooOld:
				late++
			default: // It was recorded.
			}
		}
	}
	w.duplicate.Add(duplicate) // Before events, of which they are a part.
	w.late.Add(late)
	w.events.Add(uint64(len(es.batch.Events)))
	if charged != 0 {
		w.charged.Add(charged)
	}
}

// sampleEvents offers a copy of a request for events when they are sampled and the last sample is long enough ago.
func (w *Watch) sampleEvents(sc *Scratch) {
	now, next := sc.Request.Now.UnixNano(), w.nextReport.Load()
	if now < next || len(w.reports) == cap(w.reports) || !w.nextReport.CompareAndSwap(next, now+int64(liveEvery)) {
		return
	}
	s := LiveEvents{At: sc.Request.Now, RequestID: sc.answeredID(), Code: sc.code}
	if sc.code == apierr.OK {
		s.Events = sc.event.live()
	} else {
		s.Answer = bytes.Clone(sc.Body)
	}
	if len(sc.Request.Body) <= liveBodyMax {
		s.Body = bytes.Clone(sc.Request.Body)
	}
	select {
	case w.reports <- s:
	default:
	}
}

// live returns the committed events of a request with what became of them.
func (es *eventScratch) live() []LiveEvent {
	all := make([]LiveEvent, len(es.batch.Events))
	for i := range all {
		e, p := &es.batch.Events[i], es.positions[i]
		o := &es.shares[p.share].outcomes[p.position]
		all[i] = LiveEvent{e.Kind.String(), string(e.ID), statusOf(o.Outcome), int64(o.Charged)}
	}
	return all
}

// answeredID returns the id of the request that the answer names.
func (sc *Scratch) answeredID() string {
	for _, f := range sc.Fields {
		if bytes.Equal(f.Name, nameRequestID) {
			return string(f.Value)
		}
	}
	return ""
}

// sample offers a copy of the request when the last sample is long enough ago.
func (w *Watch) sample(sc *Scratch) {
	now, next := sc.Request.Now.UnixNano(), w.next.Load()
	if now < next || len(w.samples) == cap(w.samples) || !w.next.CompareAndSwap(next, now+int64(liveEvery)) {
		return
	}
	s := LiveSample{
		At: sc.Request.Now, RequestID: sc.answeredID(), Operation: liveNames[sc.op], Auctions: make([]LiveAuction, len(sc.results.Results)),
	}
	for i := range s.Auctions {
		s.Auctions[i] = liveAuction(&sc.results.Results[i], sc.request.Auctions[i].Slots)
	}
	if len(sc.request.Body) <= liveBodyMax {
		s.Body = bytes.Clone(sc.request.Body)
	}
	select {
	case w.samples <- s:
	default:
	}
}

// liveNames are the operations by the names that Explain takes.
var liveNames = map[Operation]string{OpAuctions: "auctions", OpBrands: "sponsored-brand", OpTravel: "travel"}

func liveAuction(r *auction.Result, slots int) LiveAuction {
	a := LiveAuction{
		ResultType: resultNames[r.Type], Slots: slots, Winners: len(r.Winners), Lost: map[string]uint32{}, Ads: make([]LiveAd, len(r.Winners)),
	}
	for reason, n := range r.Lost {
		if n > 0 {
			a.Lost[auction.Reason(reason).String()] = n // Fewer than 256.
		}
	}
	for i := range r.Winners {
		w := &r.Winners[i]
		a.Ads[i] = LiveAd{Rank: int(w.Rank), Type: w.Type.String(), ID: string(w.ID)}
		if w.Campaign != nil {
			a.Ads[i].CampaignID, a.Ads[i].ResolvedBidID = string(w.Campaign[:]), string(w.Token[:])
		}
	}
	return a
}
