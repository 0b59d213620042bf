package serving

import (
	"bytes"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/wire"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// eventsRunningMax is how many events requests may wait for their commit at the same time. BOUND: each occupies its body
// and a connection; when commits are that far behind, an immediate 503 with Retry-After is better for the clients.
const eventsRunningMax = 4096

const tooManyWaiting = "too many event reports are waiting for their commit"

// beginCommit counts a request that will wait for its commit, and reports whether there may be one more. The caller
// subtracts it from eventsRunning.
func (c *Core) beginCommit() bool {
	if c.eventsRunning.Add(1) > eventsRunningMax {
		c.eventsRunning.Add(-1)
		return false
	}
	return true
}

// events answers POST /v2/events: 200 after every event of the body is committed, or the first violation in the body, or
// 503.
//
// INVARIANT: nothing is proposed before the whole body is checked, so an invalid body leaves no trace. When a valid body is
// answered with 503, some groups may have committed their share and others not. The client repeats the body, the groups
// that know its events answer as before, and nothing counts twice.
func (c *Core) events(sc *Scratch, r *Request) apierr.Code {
	sc.event.marketplace = 0 // Until the key is checked: who watches events also gets those that are refused.
	if !c.beginCommit() {
		return sc.refuse(apierr.ServiceUnavailable, tooManyWaiting)
	}
	defer c.eventsRunning.Add(-1)

	if code := c.prepareEvents(sc, r); code != apierr.OK {
		return code
	}
	if code := c.commitEvents(sc, r); code != apierr.OK {
		return code
	}
	if wantsDetail(r) {
		sc.Body = sc.event.appendDetail(sc.Body[:0])
	} else {
		sc.Body = append(sc.Body[:0], `{}`...)
	}
	return apierr.OK
}

// prepareEvents turns the body into one share of records per raft group. It only reads, so a panic in it costs one request;
// from commitEvents on panics are not recovered.
func (c *Core) prepareEvents(sc *Scratch, r *Request) (code apierr.Code) {
	defer sc.recoverPanic(&code)
	view := c.View()
	m, code := sc.checkRequest(view, r, c.EventBodyMax)
	if code != apierr.OK {
		return code
	}
	keyring, secret := c.Keyring(), c.Secret()
	if keyring == nil || secret == nil {
		return sc.refuse(apierr.ServiceUnavailable, "")
	}
	es := &sc.event
	es.begin(c, view, m, secret)
	es.batch.Body = r.Body
	if code = wire.ParseEvents(&es.batch, r.Now.UnixMilli(), &sc.fault); code != apierr.OK {
		if e := es.forged(keyring, r.Now.UnixMilli(), &sc.fault); e != nil {
			return sc.refuseToken(e)
		}
		return sc.refuseFault(code)
	}
	for i := range es.batch.Events {
		if code = es.addEvent(sc, keyring, &es.batch.Events[i], r.Now.UnixMilli()); code != apierr.OK {
			return code
		}
	}
	return apierr.OK
}

// countEvents counts the events that a group committed. It runs for every share that was committed, even if others failed.
func (sc *Scratch) countEvents(s *share) {
	for i := range s.outcomes {
		o := &s.outcomes[i]
		sc.stripe.Event(int(s.records[i].Kind), int(o.Outcome), sc.event.currency, int64(o.Charged), int64(o.Clipped))
	}
}

// wantsDetail reports whether the query asks for the status of each event: detail=true.
func wantsDetail(r *Request) bool {
	_, query := SplitTarget(r.Target)
	for len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		if string(pair) == "detail=true" {
			return true
		}
	}
	return false
}

// appendDetail appends the status of every event, in the order of the body: recorded, duplicate (the first version counts)
// or late (too old to count).
func (es *eventScratch) appendDetail(dst []byte) []byte {
	next := 0
	for k := range event.Kinds {
		dst = append(dst, `,"`...)
		if k == 0 {
			dst[len(dst)-2] = '{'
		}
		dst = append(dst, event.Kind(k).String()...)
		dst = append(dst, `":[`...)
		for first := next; next < len(es.batch.Events) && int(es.batch.Events[next].Kind) == k; next++ {
			if next > first {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"id":`...)
			dst = appendQuoted(dst, es.batch.Events[next].ID)
			dst = append(dst, `,"status":"`...)
			dst = append(dst, statusOf(es.outcome(next))...)
			dst = append(dst, `"}`...)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func statusOf(o command.Outcome) string {
	switch o {
	case command.Duplicate:
		return "duplicate"
	case command.TooOld:
		return "late"
	default:
		return "recorded"
	}
}

// appendQuoted appends text as a JSON string. REQUIRES: text is valid UTF-8; the parser has checked that.
func appendQuoted(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
