package fatal

import (
	"sync"
	"time"
)

// slowMax bounds the files that are remembered as slow. BOUND: a database writes few files at a time.
const slowMax = 64

// slowCalls distinguishes a call that a disk does not finish from one that waited while the process was stopped.
//
// Pebble reports an ongoing call about every two seconds, with its age by the wall clock. A process that was stopped
// for a minute and continues gets a report of a call that is a minute old, and that ends soon. So a call counts as
// stuck when it is reported again as one that began at the same moment. The nemesis found nodes that ended themselves
// after SIGCONT.
type slowCalls struct {
	mu    sync.Mutex
	began map[string]time.Time // By path.
}

// sameCall is the largest difference between the beginnings of one call, as computed from two reports.
const sameCall = 100 * time.Millisecond

// stuck reports whether a call of this age on this file was reported before.
func (s *slowCalls) stuck(path string, now time.Time, age time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := now.Add(-age)
	before, found := s.began[path]
	if found && began.Sub(before).Abs() < sameCall {
		return true
	}
	if s.began == nil || len(s.began) >= slowMax {
		s.began = map[string]time.Time{}
	}
	s.began[path] = began
	return false
}
