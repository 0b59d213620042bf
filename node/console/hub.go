package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
)

// Bounds of the live stream.
const (
	viewersMax   = 200         // BOUND: open streams of this node; each has a queue and a goroutine.
	viewerQueue  = 64          // BOUND: messages that wait for a slow browser, about three seconds of them; more are dropped.
	ratesEvery   = time.Second // Between two messages with rates.
	secondsFloat = float64(time.Second)
)

// hub passes the samples of one watch of a marketplace on to all who look at its live page, so that auctions cost the same for one and
// for twenty of them.
type hub struct {
	watch func(marketplace uint16) *serving.Watch

	mu      sync.Mutex
	feeds   map[uint16]*feed
	viewers int
}

// feed is the watch of a marketplace and those who receive it. LOCKS: viewers is guarded by the hub's mu.
type feed struct {
	of      *serving.Watch
	end     chan struct{}
	viewers map[*viewer]bool
}

// viewer is one open stream.
type viewer struct {
	hub         *hub
	marketplace uint16
	messages    chan []byte
}

func newHub(watch func(uint16) *serving.Watch) *hub {
	return &hub{watch: watch, feeds: map[uint16]*feed{}}
}

// join adds a viewer. It reports false when there are viewersMax already.
func (h *hub) join(marketplace uint16) (*viewer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers == viewersMax || h.watch == nil {
		return nil, false
	}
	f := h.feeds[marketplace]
	if f == nil {
		f = &feed{of: h.watch(marketplace), end: make(chan struct{}), viewers: map[*viewer]bool{}}
		h.feeds[marketplace] = f
		go h.run(f)
	}
	v := &viewer{h, marketplace, make(chan []byte, viewerQueue)}
	f.viewers[v] = true
	h.viewers++
	return v, true
}

// leave removes a viewer. The watch ends with its last viewer.
func (v *viewer) leave() {
	h := v.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[v.marketplace]
	delete(f.viewers, v)
	h.viewers--
	if len(f.viewers) == 0 {
		delete(h.feeds, v.marketplace)
		close(f.end)
	}
}

// run passes on samples and rates until the last viewer has left.
func (h *hub) run(f *feed) {
	defer f.of.Close()
	ticker := time.NewTicker(ratesEvery)
	defer ticker.Stop()
	before, at := f.of.Totals(), time.Now()
	for {
		select {
		case <-f.end:
			return
		case s := <-f.of.Samples:
			h.send(f, message("auction", sampleOf(&s)))
		case now := <-ticker.C:
			totals := f.of.Totals()
			h.send(f, message("rates", ratesBetween(before, totals, now.Sub(at))))
			before, at = totals, now
		}
	}
}

// send offers a message to every viewer, and drops it for those whose queue is full.
func (h *hub) send(f *feed, text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for v := range f.viewers {
		select {
		case v.messages <- text:
		default:
		}
	}
}

// Rates are the rates of a marketplace on this node during the last second. Amounts are in micros: millionths of the major unit.
type Rates struct {
	AuctionsPerSecond    float64 `json:"auctionsPerSecond"`
	EventsPerSecond      float64 `json:"eventsPerSecond"`
	SpendMicrosPerSecond float64 `json:"spendMicrosPerSecond"`
}

func ratesBetween(a, b serving.LiveTotals, took time.Duration) Rates {
	per := func(n float64) float64 { return n * secondsFloat / float64(max(took, 1)) }
	return Rates{
		per(float64(b.Auctions - a.Auctions)), per(float64(b.Events - a.Events)), per(float64(b.ChargedMicros - a.ChargedMicros)),
	}
}

// Sample is one request for auctions. Its request is left out when it is too large, and names no user.
type Sample struct {
	Time      time.Time             `json:"time"`
	RequestID string                `json:"requestId"`
	Operation string                `json:"operation"`
	Auctions  []serving.LiveAuction `json:"auctions"`
	Request   json.RawMessage       `json:"request,omitempty"`
}

func sampleOf(s *serving.LiveSample) Sample {
	return Sample{s.At.UTC(), s.RequestID, s.Operation, s.Auctions, maskUsers(s.Body)}
}

// maskUsers returns a body without the ids of users, which not everybody who may look at auctions may know; nil for one that cannot be
// decoded.
func maskUsers(body []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	mask(v)
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

func mask(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if name == "opaqueUserId" {
				v[name] = "(masked)"
				continue
			}
			mask(v[name])
		}
	case []any:
		for i := range v {
			mask(v[i])
		}
	}
}

// message is one server-sent event.
func message(event string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic("console: a message cannot be encoded as JSON: " + err.Error())
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, text)
}
