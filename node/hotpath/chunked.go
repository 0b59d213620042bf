package hotpath

import (
	"sync"

	"github.com/valyala/fasthttp"
)

// heads keeps the heads of requests whose bodies are coming in chunks: fasthttp forgets the head of a body that turns out to
// be too large, and path, method and key come before the size. They are kept by where fasthttp reads them into.
type heads struct {
	mu   sync.Mutex
	kept map[*fasthttp.RequestHeader]*fasthttp.RequestHeader
}

// headsMax is how many heads are kept. BOUND: 16 KiB each; where there are more bodies in chunks at a time, those that are too
// large are refused for that alone.
const headsMax = 256

const contentLengthChunked = -1

// keep remembers the head of a request in chunks. fasthttp calls it when it has read a head.
func (s *heads) keep(h *fasthttp.RequestHeader) (unchanged fasthttp.RequestConfig) {
	if h.ContentLength() != contentLengthChunked {
		return unchanged
	}
	copied := new(fasthttp.RequestHeader)
	h.CopyTo(copied)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= headsMax {
		clear(s.kept) // Some of them belong to connections that broke off, of which nobody tells.
	}
	if s.kept == nil {
		s.kept = map[*fasthttp.RequestHeader]*fasthttp.RequestHeader{}
	}
	s.kept[h] = copied
	return unchanged
}

// take forgets the head of a request whose body has been read, or given up, and returns it; nil when it was not kept.
func (s *heads) take(h *fasthttp.RequestHeader) *fasthttp.RequestHeader {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := s.kept[h]
	delete(s.kept, h)
	return copied
}
