package hotpath

import (
	"sync"
	"sync/atomic"
)

// lanes are all connections that answer plain requests, so that they can be told when the server stops.
type lanes struct {
	pool     sync.Pool // Of *lane.
	stopping atomic.Bool
	partial  atomic.Int64 // Connections that hold a buffer for a request that is not complete.

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

// stop closes the connections that wait for a request, and lets the others end with the answer they are making.
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
