// Package upload bounds the uploads of files: how many a node takes at the same moment, how many of them one marketplace may
// have, how long a client may take to prove its permission, and how slowly it may send.
//
// INVARIANT: who has not proved a permission holds no slot. A handler reads and checks what proves it first, within
// FormTimeout, then takes a slot of the marketplace that the permission is for, then reads the file at MinRate or faster.
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
	// FormTimeout is how long a client may take for what precedes the file. BOUND: some KiB; whoever sends nothing is cut off.
	FormTimeout = 10 * time.Second
	// MinRate is the least number of bytes a second of a file, measured over Window. BOUND: a slow mobile uplink has 16 KiB/s;
	// whoever sends less holds a slot that others wait for.
	MinRate = 16 << 10
	// Window is how long a node waits for a client before it compares what came with MinRate. BOUND: a connection that
	// changes its network is back within it.
	Window = 10 * time.Second

	timeout     = 10 * time.Minute // BOUND: the whole upload: 64 MiB at 0.9 Mbit/s.
	restTimeout = 5 * time.Second  // BOUND: what a refused client still sends; it is thrown away.
)

// ErrSlow is what Read returns when a client sends less than MinRate, or takes longer than an upload may.
var ErrSlow = fmt.Errorf("the file came slower than %d bytes a second over %v, or took longer than %v", MinRate, Window, timeout)

// Body is the body of an upload, read against time. It is not safe for concurrent use.
//
// Only the time that the node waits for the client counts, so that a slow disk of the node ends nobody's upload. Times are
// the runtime's and not those of the node's injected clock, because the deadlines of connections are.
type Body struct {
	in       io.ReadCloser
	deadline func(time.Time) error // Of the connection. It fails where there is none, as in tests.
	ends     time.Time
	paced    bool
	slow     bool
	waited   time.Duration // In this window.
	came     int64         // In this window.
}

// NewBody begins an upload: from now on the client has FormTimeout until Pace is called. It replaces the deadlines that the
// server has set for requests without files.
func NewBody(w http.ResponseWriter, r *http.Request) *Body {
	c, now := http.NewResponseController(w), time.Now()
	b := &Body{in: r.Body, deadline: c.SetReadDeadline, ends: now.Add(timeout)}
	_ = c.SetReadDeadline(now.Add(FormTimeout)) // Tests have no connection, here and below.
	_ = c.SetWriteDeadline(b.ends.Add(time.Minute))
	return b
}

// Pace begins to measure the rate: the permission is proved and the file follows.
func (b *Body) Pace() { b.paced = true }

// Read reads from the client. It returns ErrSlow when the client is too slow.
func (b *Body) Read(p []byte) (int, error) {
	if b.slow {
		return 0, ErrSlow
	}
	began := time.Now()
	if b.paced {
		end := began.Add(Window - b.waited)
		if end.After(b.ends) {
			end = b.ends
		}
		_ = b.deadline(end)
	}
	n, err := b.in.Read(p)
	if b.paced {
		b.waited += time.Since(began)
		b.came += int64(n)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), err == nil && b.paced && b.came < MinRate*int64(Window/time.Second) && b.waited >= Window:
		b.slow = true
		return n, ErrSlow
	case err != nil:
		// The server reads on to see whether the client goes away. A deadline that passes then would end the request.
		_ = b.deadline(b.ends)
	case b.came >= MinRate*int64(Window/time.Second):
		b.came, b.waited = 0, 0
	}
	return n, err
}

// Close closes the body.
func (b *Body) Close() error { return b.in.Close() }

// Slow reports whether the upload ended because of its rate or time.
func (b *Body) Slow() bool { return b.slow }

// Refuse gives a client that is refused a short time to end. REQUIRES: nothing of the file is read afterwards but to be thrown away.
func (b *Body) Refuse() {
	if !b.slow { // Its deadline has passed already.
		_ = b.deadline(time.Now().Add(restTimeout))
	}
}
