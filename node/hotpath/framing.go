package hotpath

import (
	"io"

	"github.com/gavel-ads/gavel/node/ingress"
)

// readChecked reads bytes for fasthttp through the framing check and counts a connection that the check refuses.
func (s *Server) readChecked(framing *ingress.Checker, from io.Reader, p []byte) (int, error) {
	refused := framing.Refused()
	n, err := framing.Read(from, p)
	if framing.Refused() && !refused {
		s.frames.RefusedFrame()
	}
	return n, err
}

// uncheckedReader reads a connection that fasthttp has taken over: first the bytes that are in the buffer already, from the
// first request on that is not plain, then those that are received.
type uncheckedReader fastPathConn

// Read reads without checking the framing.
func (u *uncheckedReader) Read(p []byte) (int, error) {
	c := (*fastPathConn)(u)
	if c.buf == nil {
		return c.Conn.Read(p)
	}
	n := copy(p, c.buf.in[c.buf.from:c.buf.to])
	if c.buf.from += n; c.buf.from == c.buf.to {
		c.release()
	}
	return n, nil
}
