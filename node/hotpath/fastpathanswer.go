package hotpath

import (
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gavel-ads/gavel/node/serving"
)

// answer calls the core with a plain request and appends the answer to the collected ones. It reports whether the connection
// stays open.
func (c *fastPathConn) answer(r *plainRequest) (keepOpen bool) {
	sc := c.s.core.Acquire()
	sc.Request = serving.Request{
		Now: c.last, Method: methodPost, Target: r.target, Authorization: r.authorization, RequestID: r.requestID,
		ContentEncoding: r.contentEncoding, Origin: r.origin, Body: r.body, UnknownPath: c.s.unknownPath,
	}
	c.s.core.Serve(sc)
	if !c.authenticated && sc.Authenticated() {
		c.authenticated = true
		c.slot.Authenticated()
	}
	keepOpen = c.s.pool.phase.Load() == phaseServing
	c.buf.append(sc, c.last, c.s.http.NoDefaultDate, keepOpen)
	took := sc.Took()
	c.last = c.last.Add(took) // The deadlines of writing and of idling count from here: an answer may take as long as they are.
	sc.Release(took)
	return keepOpen
}

var methodPost = []byte("POST")

// append appends an answer in the form in which fasthttp would send it.
func (l *fastPathBuffer) append(sc *serving.Scratch, now time.Time, noDate, keepOpen bool) {
	b := l.out
	b = append(b, "HTTP/1.1 "...)
	if sc.Status == http.StatusCreated {
		b = append(b, "201 Created"...)
	} else {
		b = strconv.AppendInt(b, int64(sc.Status), 10)
		b = append(append(b, ' '), fasthttp.StatusMessage(sc.Status)...)
	}
	if !noDate {
		b = append(append(b, "\r\nDate: "...), l.dateAt(now)...)
	}
	if sc.Status != http.StatusNoContent { // RFC 9110: an answer without content has no length.
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(sc.Body)), 10)
	}
	for i := range sc.Fields {
		f := &sc.Fields[i]
		b = append(append(b, '\r', '\n'), f.Name...)
		b = append(append(b, ':', ' '), f.Value...)
	}
	if !keepOpen {
		b = append(b, "\r\nConnection: close"...)
	}
	b = append(b, "\r\n\r\n"...)
	b = append(b, sc.Body...)
	l.out = b
}

// dateAt returns the text of a time for the Date field. It formats it once per second.
func (l *fastPathBuffer) dateAt(now time.Time) []byte {
	if second := now.Unix(); second != l.second {
		l.second = second
		l.date = now.UTC().AppendFormat(l.date[:0], http.TimeFormat)
	}
	return l.date
}
