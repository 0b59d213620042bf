package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/serving"
)

// Bounds of the live stream.
const (
	viewersMax   = 200                    // BOUND: open streams of this node; each has a queue and a goroutine.
	viewerQueue  = 8                      // BOUND: messages that wait for a slow browser, about four seconds of them; more are dropped.
	passOnEvery  = 500 * time.Millisecond // Between two writes to a browser. A person sees no difference to less, and a write is a system call.
	ratesEvery   = time.Second            // Between two rates. A multiple of passOnEvery.
	latencyEvery = 5 * time.Second        // Between two latencies: each reads all counters of the node.
	secondsFloat = float64(time.Second)
)

// hub passes the samples of one watch of a marketplace on to all who look at its live page, so that auctions cost the same for one and
// for twenty of them. Each sample is encoded once, and all samples of half a second are one write.
type hub struct {
	watch     func(marketplace uint16) *serving.Watch
	latencies func() func() (median, p99 time.Duration, known bool) // May be nil.

	mu      sync.Mutex
	feeds   map[uint16]*feed
	viewers int
}

// topic is what a stream has beside rates.
type topic uint8

// The topics.
const (
	ratesAlone topic = iota
	auctionSamples
	eventSamples
	topics = int(eventSamples) + 1
)

// feed is the watch of a marketplace and those who receive it. LOCKS: viewers and wanted are guarded by the hub's mu.
type feed struct {
	of      *serving.Watch
	began   time.Time
	end     chan struct{}
	viewers map[*viewer]bool
	wanted  [topics]int // How many viewers have each topic.
}

// viewer is one open stream.
type viewer struct {
	hub         *hub
	marketplace uint16
	topic       topic
	messages    chan []byte
}

func newHub(watch func(uint16) *serving.Watch, latencies func() func() (median, p99 time.Duration, known bool)) *hub {
	return &hub{watch: watch, latencies: latencies, feeds: map[uint16]*feed{}}
}

// join adds a viewer of a topic. It reports false when there are viewersMax already.
func (h *hub) join(marketplace uint16, about topic) (*viewer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers == viewersMax || h.watch == nil {
		return nil, false
	}
	f := h.feeds[marketplace]
	if f == nil {
		f = &feed{of: h.watch(marketplace), began: time.Now(), end: make(chan struct{}), viewers: map[*viewer]bool{}}
		h.feeds[marketplace] = f
		go h.run(f)
	}
	v := &viewer{h, marketplace, about, make(chan []byte, viewerQueue)}
	f.viewers[v] = true
	h.viewers++
	if f.wanted[about]++; about == eventSamples {
		f.of.SampleEvents(true)
	}
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
	if f.wanted[v.topic]--; f.wanted[eventSamples] == 0 {
		f.of.SampleEvents(false)
	}
	if len(f.viewers) == 0 {
		delete(h.feeds, v.marketplace)
		close(f.end)
	}
}

// run passes on samples and rates until the last viewer has left. The watch bounds how many samples are passed on together.
func (h *hub) run(f *feed) {
	defer f.of.Close()
	ticker := time.NewTicker(passOnEvery)
	defer ticker.Stop()
	var texts [topics][]byte
	before, at := serving.LiveTotals{}, f.began // A watch counts from 0: what came before this goroutine is in the first rates.
	latency := h.latency(at)
	for {
		select {
		case <-f.end:
			return
		case s := <-f.of.Samples:
			if h.wants(f, auctionSamples) {
				texts[auctionSamples] = append(texts[auctionSamples], message("auction", sampleOf(&s))...)
			}
		case s := <-f.of.Events:
			if h.wants(f, eventSamples) {
				texts[eventSamples] = append(texts[eventSamples], message("events", eventsOf(&s))...)
			}
		case t := <-ticker.C:
			if t.Sub(at) > ratesEvery-passOnEvery/2 { // The ticker may be early by what it was late before.
				totals := f.of.Totals()
				now := ratesBetween(before, totals, t.Sub(at))
				now.MedianMillis, now.P99Millis = latency(t)
				texts[ratesAlone] = message("rates", now)
				before, at = totals, t
				if h.wants(f, eventSamples) {
					texts[eventSamples] = append(texts[eventSamples], message("totals", totalsOf(f.of.EventTotals()))...)
				}
			}
			h.send(f, &texts)
			texts = [topics][]byte{}
		}
	}
}

// wants reports whether a viewer of a feed has a topic.
func (h *hub) wants(f *feed, about topic) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return f.wanted[about] > 0
}

// send offers each viewer the rates and the texts of its topic, all as one message, and drops it for those whose queue is full.
func (h *hub) send(f *feed, texts *[topics][]byte) {
	var messages [topics][]byte
	for i := range messages {
		messages[i] = texts[ratesAlone]
		if topic(i) != ratesAlone {
			messages[i] = slices.Concat(texts[i], texts[ratesAlone])
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for v := range f.viewers {
		text := messages[v.topic]
		if len(text) == 0 {
			continue
		}
		select {
		case v.messages <- text:
		default:
		}
	}
}

// latency returns a function that returns the latencies at a time: the last ones that were read, nil before them and without requests.
func (h *hub) latency(start time.Time) func(now time.Time) (median, p99 *float64) {
	if h.latencies == nil {
		return func(time.Time) (median, p99 *float64) { return nil, nil }
	}
	read, at := h.latencies(), start
	var median, p99 *float64
	return func(now time.Time) (*float64, *float64) {
		if now.Sub(at) >= latencyEvery {
			at, median, p99 = now, nil, nil
			if m, p, known := read(); known {
				median, p99 = new(m.Seconds()*1e3), new(p.Seconds()*1e3)
			}
		}
		return median, p99
	}
}

// Rates are the rates of a marketplace on this node during the last second. Amounts are in micros: millionths of the major unit.
type Rates struct {
	AuctionsPerSecond    float64 `json:"auctionsPerSecond"`
	EventsPerSecond      float64 `json:"eventsPerSecond"`
	SpendMicrosPerSecond float64 `json:"spendMicrosPerSecond"`
	// FillRate is the share of the wanted slots that were filled; absent when none was wanted.
	FillRate *float64 `json:"fillRate,omitempty"`
	// MedianMillis and P99Millis are how long requests for auctions took on this node, of all marketplaces, in the last 5 to 10 seconds,
	// to 9 %; absent without requests.
	MedianMillis *float64 `json:"medianMillis,omitempty"`
	P99Millis    *float64 `json:"p99Millis,omitempty"`
}

func ratesBetween(a, b serving.LiveTotals, took time.Duration) Rates {
	per := func(n float64) float64 { return n * secondsFloat / float64(max(took, 1)) }
	r := Rates{
		AuctionsPerSecond: per(float64(b.Auctions - a.Auctions)), EventsPerSecond: per(float64(b.Events - a.Events)),
		SpendMicrosPerSecond: per(float64(b.ChargedMicros - a.ChargedMicros)),
	}
	if slots := b.Slots - a.Slots; slots > 0 {
		r.FillRate = new(float64(b.Winners-a.Winners) / float64(slots))
	}
	return r
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

// ReportedEvents is one request that reported events. A refused one has ErrCode and Message, and no events. Its body is left out when it
// is too large or no JSON, and names no user.
type ReportedEvents struct {
	Time      time.Time           `json:"time"`
	RequestID string              `json:"requestId"`
	ErrCode   string              `json:"errCode,omitempty"`
	Message   string              `json:"message,omitempty"`
	Events    []serving.LiveEvent `json:"events"`
	Request   json.RawMessage     `json:"request,omitempty"`
}

func eventsOf(s *serving.LiveEvents) ReportedEvents {
	out := ReportedEvents{Time: s.At.UTC(), RequestID: s.RequestID, Events: append([]serving.LiveEvent{}, s.Events...), Request: maskUsers(s.Body)}
	if s.Code != apierr.OK {
		var answer struct{ Message string }
		_ = json.Unmarshal(s.Answer, &answer) // The node's own error object; without a message the code says enough.
		out.ErrCode, out.Message = s.Code.String(), answer.Message
	}
	return out
}

// EventTotals counts the events of a marketplace on this node since somebody looks at it: committed ones, and refused requests by errCode.
type EventTotals struct {
	Recorded  uint64            `json:"recorded"`
	Duplicate uint64            `json:"duplicate"`
	Late      uint64            `json:"late"`
	Refused   map[string]uint64 `json:"refused"`
}

func totalsOf(t serving.EventTotals) EventTotals {
	return EventTotals{t.Recorded, t.Duplicate, t.Late, t.Refused}
}

// maskUsers returns a body without the ids of users, which not everybody who may look at auctions may know; nil for one that cannot be
// decoded.
func maskUsers(body []byte) json.RawMessage {
	if text, known := maskPlain(body); known {
		return text
	}
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

// userMember is the member of a request that names its user, and maskedUser what is shown instead of the id.
const (
	userMember = "opaqueUserId"
	maskedUser = "(masked)"
)

// maskPlain is maskUsers for the bodies that storefronts send: JSON without escapes, in which users are texts. There a quote begins or
// ends a text, so users are found without decoding, at a tenth of the cost. It reports false for other bodies.
func maskPlain(body []byte) (text json.RawMessage, known bool) {
	if bytes.IndexByte(body, '\\') >= 0 || !json.Valid(body) {
		return nil, false
	}
	const name, space = `"` + userMember + `"`, " \t\r\n"
	for rest := body; ; {
		at := bytes.Index(rest, []byte(name))
		if at < 0 {
			return append(text, rest...), true
		}
		at += len(name)
		text = append(text, rest[:at]...)
		rest = bytes.TrimLeft(rest[at:], space)
		value, isName := bytes.CutPrefix(rest, []byte(":"))
		if !isName {
			continue // It is a value.
		}
		value, isText := bytes.CutPrefix(bytes.TrimLeft(value, space), []byte(`"`))
		if !isText {
			return nil, false
		}
		text = append(text, `:"`+maskedUser+`"`...)
		rest = value[bytes.IndexByte(value, '"')+1:] // Valid JSON ends every text.
	}
}

func mask(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if name == userMember {
				v[name] = maskedUser
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
