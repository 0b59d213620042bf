// Package upload bounds the uploads of files: how many a node accepts at the same moment, how many of them one marketplace may
// have, how long a client may take to prove its permission, and how slowly it may send.
//
// INVARIANT: an upload counts towards the bounds only after the client has proved its permission. A handler first reads and checks
// the proof, within FormTimeout, then calls Limiter.Acquire for the marketplace that the permission is for, and then reads the file,
// at MinRate or faster.
package upload

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Bounds of one upload.
const (
	// FormTimeout is how long a client may take to send what precedes the file. BOUND: that is a few KiB.
	FormTimeout = 10 * time.Second
	// MinRate is the least number of bytes a second of a file, measured over Window. BOUND: a slow mobile uplink has 16 KiB/s, and
	// a slower client occupies an upload that others wait for.
	MinRate = 16 << 10
	// Window is how long a node waits for a client before it compares the bytes received with MinRate. BOUND: a client that
	// changes its network is connected again within it.
	Window = 10 * time.Second

	timeout        = 10 * time.Minute // BOUND: the whole upload; 64 MiB at 0.9 Mbit/s.
	discardTimeout = 5 * time.Second  // BOUND: time for what a refused client still sends, which is discarded.
)

// ErrSlow is returned by Read when a client sends less than MinRate, or takes longer than an upload may take.
var ErrSlow = fmt.Errorf("the file arrived slower than %d bytes a second over %v, or took longer than %v", MinRate, Window, timeout)

// Body is the body of an upload with limits on time and rate. It is not safe for concurrent use.
//
// Only the time in which the node waits for the client counts, so a slow disk of the node ends no upload. It uses the real clock
// and not the node's injected one, because deadlines of connections do.
type Body struct {
	in        io.ReadCloser
	deadline  func(time.Time) error // Sets the connection's read deadline. It fails where there is no connection, as in tests.
	ends      time.Time
	measuring bool
	slow      bool
	waited    time.Duration // Time spent waiting for the client in the present window.
	received  int64         // Bytes received in the present window.
}

// NewBody begins an upload: from now on the client has FormTimeout until MeasureRate is called. It replaces the deadlines that the
// server has set for requests without files.
func NewBody(w http.ResponseWriter, r *http.Request) *Body {
	c, now := http.NewResponseController(w), time.Now()
	b := &Body{in: r.Body, deadline: c.SetReadDeadline, ends: now.Add(timeout)}
	_ = c.SetReadDeadline(now.Add(FormTimeout)) // It fails only in tests, which have no connection; here and below.
	_ = c.SetWriteDeadline(b.ends.Add(time.Minute))
	return b
}

// MeasureRate begins to measure the rate, when the permission is proved and the file follows.
func (b *Body) MeasureRate() { b.measuring = true }

// Read reads from the client. It returns ErrSlow when the client is too slow, and from then on always.
func (b *Body) Read(p []byte) (int, error) {
	if b.slow {
		return 0, ErrSlow
	}
	began := time.Now()
	if b.measuring {
		end := began.Add(Window - b.waited)
		if end.After(b.ends) {
			end = b.ends
		}
		_ = b.deadline(end)
	}
	n, err := b.in.Read(p)
	if b.measuring {
		b.waited += time.Since(began)
		b.received += int64(n)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), err == nil && b.measuring && b.received < MinRate*int64(Window/time.Second) && b.waited >= Window:
		b.slow = true
		return n, ErrSlow
	case err != nil:
		// The server keeps reading to detect whether the client disconnects. A deadline that passes then would end the request.
		_ = b.deadline(b.ends)
	case b.received >= MinRate*int64(Window/time.Second):
		b.received, b.waited = 0, 0
	}
	return n, err
}

// Close closes the body.
func (b *Body) Close() error { return b.in.Close() }

// Slow reports whether the upload ended because of its rate or time.
func (b *Body) Slow() bool { return b.slow }

// Refuse gives a refused client a short time to stop sending. REQUIRES: what is read afterwards is only discarded.
func (b *Body) Refuse() {
	if !b.slow { // The deadline of a slow upload has passed already.
		_ = b.deadline(time.Now().Add(discardTimeout))
	}
}
