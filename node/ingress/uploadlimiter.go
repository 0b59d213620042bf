package ingress

import (
	"fmt"
	"sync"
)

// UploadLimiter bounds the uploads that run at the same moment: all together, and those of each marketplace, so that no marketplace can
// use the whole bound. It is safe for concurrent use.
type UploadLimiter struct {
	total, each int

	mu            sync.Mutex
	running       int
	byMarketplace map[uint16]int // By marketplace. BOUND: total entries.
}

// NewUploadLimiter returns a limiter for total uploads, at most each of them for one marketplace.
func NewUploadLimiter(total, each int) *UploadLimiter {
	return &UploadLimiter{total: total, each: each, byMarketplace: map[uint16]int{}}
}

// Acquire begins an upload of a marketplace. REQUIRES: the client has proved its permission. release ends the upload. A nil release
// means that a bound is reached, and refusal says which.
func (s *UploadLimiter) Acquire(marketplace uint16) (release func(), refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.byMarketplace[marketplace] >= s.each:
		return nil, fmt.Sprintf("this marketplace has %d uploads under way on this node, the most it may have; repeat when one has ended", s.each)
	case s.running >= s.total:
		return nil, fmt.Sprintf("this node has %d uploads under way, the most it takes; repeat when one has ended", s.total)
	}
	s.running++
	s.byMarketplace[marketplace]++
	return func() { s.release(marketplace) }, ""
}

func (s *UploadLimiter) release(marketplace uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.byMarketplace[marketplace]--; s.byMarketplace[marketplace] == 0 {
		delete(s.byMarketplace, marketplace)
	}
}
