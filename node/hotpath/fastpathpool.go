package hotpath

import (
	"sync"
	"sync/atomic"
)

// fastPathPool contains all connections of the fast path, so that idle ones can be closed when the server stops, and the
// pool of their buffers.
type lanes struct {
	pool     sync.Pool // It holds *fastPathBuffer.
	stopping atomic.Bool
	partial  atomic.Int64 // The number of connections that have a buffer for an incomplete request.

	mu  sync.Mutex
	all map[*laneConn]struct{}
}

func (l *lanes) enter(c *laneConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*laneConn]struct{}{}
	}
	l.all[c] = struct{}{}
}

func (l *lanes) leave(c *laneConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, c)
}

// stop closes the idle connections. Each of the others closes itself after the request that it is answering.
func (l *lanes) stop() {
	l.stopping.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.all {
		if c.state.CompareAndSwap(laneWaits, laneEnds) {
			_ = c.Conn.Close()
		}
	}
}
