package ingress

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
	// UploadFormTimeout is how long a client may take to send what precedes the file. BOUND: that is a few KiB.
	UploadFormTimeout = 10 * time.Second
	// UploadMinRate is the least number of bytes a second of a file, measured over Window. BOUND: a slow mobile uplink has 16 KiB/s, and
	// a slower client occupies an upload that others wait for.
	UploadMinRate = 16 << 10
	// UploadWindow is how long a node waits for a client before it compares the bytes received with UploadMinRate. BOUND: a client that
	// changes its network is connected again within it.
	UploadWindow = 10 * time.Second

	timeout        = 10 * time.Minute // BOUND: the whole upload; 64 MiB at 0.9 Mbit/s.
	discardTimeout = 5 * time.Second  // BOUND: time for what a refused client still sends, which is discarded.
)

// ErrUploadSlow is returned by Read when a client sends less than UploadMinRate, or takes longer than an upload may take.
var ErrUploadSlow = fmt.Errorf("the file arrived slower than %d bytes a second over %v, or took longer than %v", UploadMinRate, UploadWindow, timeout)

// UploadBody is the body of an upload with limits on time and rate. It is not safe for concurrent use.
//
// Only the time in which the node waits for the client counts, so a slow disk of the node ends no upload. It uses the real clock
// and not the node's injected one, because deadlines of connections do.
type UploadBody struct {
	in        io.ReadCloser
	deadline  func(time.Time) error // Sets the connection's read deadline. It fails where there is no connection, as in tests.
	ends      time.Time
	measuring bool
	slow      bool
	waited    time.Duration // Time spent waiting for the client in the present window.
	received  int64         // Bytes received in the present window.
}

// NewUploadBody begins an upload: from now on the client has UploadFormTimeout until MeasureRate is called. It replaces the deadlines that the
// server has set for requests without files.
func NewUploadBody(w http.ResponseWriter, r *http.Request) *UploadBody {
	c, now := http.NewResponseController(w), time.Now()
	b := &UploadBody{in: r.Body, deadline: c.SetReadDeadline, ends: now.Add(timeout)}
	_ = c.SetReadDeadline(now.Add(UploadFormTimeout)) // It fails only in tests, which have no connection; here and below.
	_ = c.SetWriteDeadline(b.ends.Add(time.Minute))
	return b
}

// MeasureRate begins to measure the rate, when the permission is proved and the file follows.
func (b *UploadBody) MeasureRate() { b.measuring = true }

// Read reads from the client. It returns ErrUploadSlow when the client is too slow, and from then on always.
func (b *UploadBody) Read(p []byte) (int, error) {
	if b.slow {
		return 0, ErrUploadSlow
	}
	began := time.Now()
	if b.measuring {
		end := began.Add(UploadWindow - b.waited)
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
	case errors.Is(err, os.ErrDeadlineExceeded), err == nil && b.measuring && b.received < UploadMinRate*int64(UploadWindow/time.Second) && b.waited >= UploadWindow:
		b.slow = true
		return n, ErrUploadSlow
	case err != nil:
		// The server keeps reading to detect whether the client disconnects. A deadline that passes then would end the request.
		_ = b.deadline(b.ends)
	case b.received >= UploadMinRate*int64(UploadWindow/time.Second):
		b.received, b.waited = 0, 0
	}
	return n, err
}

// Close closes the body.
func (b *UploadBody) Close() error { return b.in.Close() }

// Slow reports whether the upload ended because of its rate or time.
func (b *UploadBody) Slow() bool { return b.slow }

// Refuse gives a refused client a short time to stop sending. REQUIRES: what is read afterwards is only discarded.
func (b *UploadBody) Refuse() {
	if !b.slow { // The deadline of a slow upload has passed already.
		_ = b.deadline(time.Now().Add(discardTimeout))
	}
}
