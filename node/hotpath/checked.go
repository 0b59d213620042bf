package hotpath

import (
	"io"

	"github.com/gavel-ads/gavel/node/httphead"
)

// readChecked reads what fasthttp may see, and counts what is refused.
func (s *Server) readChecked(framing *httphead.Checker, from io.Reader, p []byte) (int, error) {
	refused := framing.Refused()
	n, err := framing.Read(from, p)
	if framing.Refused() && !refused {
		s.frames.RefusedFrame()
	}
	return n, err
}

// unchecked is what there is to read of a connection that has become fasthttp's: first the bytes that are here already, from
// the first request on that is not plain, then those that come.
type unchecked laneConn

// Read reads them.
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
