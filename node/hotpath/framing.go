package hotpath

import (
	"io"

	"github.com/gavel-ads/gavel/node/httphead"
)

// readChecked reads bytes for fasthttp through the framing check and counts a connection that the check refuses.
func (s *Server) readChecked(framing *httphead.Checker, from io.Reader, p []byte) (int, error) {
	refused := framing.Refused()
	n, err := framing.Read(from, p)
	if framing.Refused() && !refused {
		s.frames.RefusedFrame()
	}
	return n, err
}

// uncheckedReader reads a connection that fasthttp has taken over: first the bytes that are in the buffer already, from the
// first request on that is not plain, then those that are received.
type unchecked laneConn

// Read reads without checking the framing.
func (u *unchecked) Read(p []byte) (int, error) {
	c := (*laneConn)(u)
	if c.l == nil {
		return c.Conn.Read(p)
	}
	n := copy(p, c.l.in[c.l.from:c.l.to])
	if c.l.from += n; c.l.from == c.l.to {
		c.release()
	}
	return n, nil
}
