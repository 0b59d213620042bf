package traffic

import (
	"strconv"
	"time"
)

// Events builds a body of POST /v2/events event by event. Reset begins a body.
//
// REQUIRES: all events of one kind are added one after the other, because JSON objects must not repeat a member. The order
// of the kinds is free.
type Events struct {
	body    []byte
	kind    string
	open    bool
	written int
}

// Reset begins a new body and reuses the memory of the last one.
func (e *Events) Reset() {
	e.body = append(e.body[:0], '{')
	e.kind, e.open, e.written = "", false, 0
}

// Len returns the number of events in the body.
func (e *Events) Len() int { return e.written }

// Event is one impression or click with a token, or a page view or purchase without one. No member may need a JSON escape.
type Event struct {
	ID            []byte
	User          []byte
	ResolvedBidID []byte // The token; empty if there is none.
	Occurred      []byte // The time in the format of AppendTime.
}

// Impression appends an impression.
func (e *Events) Impression(ev *Event) { e.begin("impressions"); e.common(ev); e.end() }

// Click appends a click.
func (e *Events) Click(ev *Event) { e.begin("clicks"); e.common(ev); e.end() }

// Pageview appends a view of a page of the given type.
func (e *Events) Pageview(ev *Event, page, pageID string) {
	e.begin("pageviews")
	e.common(ev)
	e.body = append(e.body, `,"page":{"type":"`...)
	e.body = append(e.body, page...)
	e.body = append(e.body, `","pageId":"`...)
	e.body = append(e.body, pageID...)
	e.body = append(e.body, `"}`...)
	e.end()
}

// Purchase appends a purchase of one product at a price in minor units (hundredths).
func (e *Events) Purchase(ev *Event, product string, quantity, unitPriceMinor int64) {
	e.begin("purchases")
	e.common(ev)
	e.body = append(e.body, `,"items":[{"productId":"`...)
	e.body = append(e.body, product...)
	e.body = append(e.body, `","quantity":`...)
	e.body = strconv.AppendInt(e.body, quantity, 10)
	e.body = append(e.body, `,"unitPrice":`...)
	e.body = AppendMajor(e.body, unitPriceMinor)
	e.body = append(e.body, `}]`...)
	e.end()
}

// Body ends the body and returns it. REQUIRES: the next call is Reset. OWNERSHIP: the slice is valid until then.
func (e *Events) Body() []byte {
	if e.open {
		e.body = append(e.body, ']')
		e.open = false
	}
	e.body = append(e.body, '}')
	return e.body
}

func (e *Events) begin(kind string) {
	if e.kind == kind {
		e.body = append(e.body, ',', '{')
		return
	}
	if e.open {
		e.body = append(e.body, ']', ',')
	}
	e.body = append(e.body, '"')
	e.body = append(e.body, kind...)
	e.body = append(e.body, `":[{`...)
	e.kind, e.open = kind, true
}

func (e *Events) common(ev *Event) {
	e.body = append(e.body, `"id":"`...)
	e.body = append(e.body, ev.ID...)
	e.body = append(e.body, `","occurredAt":"`...)
	e.body = append(e.body, ev.Occurred...)
	e.body = append(e.body, `","opaqueUserId":"`...)
	e.body = append(e.body, ev.User...)
	if len(ev.ResolvedBidID) > 0 {
		e.body = append(e.body, `","resolvedBidId":"`...)
		e.body = append(e.body, ev.ResolvedBidID...)
	}
	e.body = append(e.body, '"')
}

func (e *Events) end() {
	e.body = append(e.body, '}')
	e.written++
}

// AppendTime appends an instant as the interface sends it: RFC 3339 in UTC with milliseconds.
func AppendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

// AppendMajor appends an amount of hundredths, at least 0, as a decimal number of major units.
func AppendMajor(dst []byte, minor int64) []byte {
	dst = strconv.AppendInt(dst, minor/100, 10)
	return append(dst, '.', byte('0'+minor/10%10), byte('0'+minor%10))
}
