package fatal

import (
	"sync"
	"time"
)

// slowMax bounds how many files are remembered as slow. BOUND: a database writes few files at a time.
const slowMax = 64

// slowCalls tells a call that a disk keeps waiting from one that was waiting while the process was stopped.
//
// Pebble reports an ongoing call about every two seconds, with its age by the wall clock. A process that was stopped for a
// minute and continues hears of a call a minute old, which then ends at once. So a call is stuck when it is told of a
// second time, or more, as one that began at the same moment. The nemesis found nodes that ended themselves on waking.
type slowCalls struct {
	mu    sync.Mutex
	began map[string]time.Time // By path.
}

// sameCall is how far the beginnings of one call may lie apart when they are computed from two reports.
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
