package hotpath

import (
	"sync"
	"sync/atomic"
)

// fastPathPool contains all connections of the fast path, so that idle ones can be closed when the server stops, and the
// pool of their buffers.
type fastPathPool struct {
	buffers    sync.Pool // It holds *fastPathBuffer.
	phase      atomic.Uint32
	incomplete atomic.Int64 // The number of connections that have a buffer for an incomplete request.

	mu  sync.Mutex
	all map[*fastPathConn]struct{}
}

// The phases of a server. They only grow.
const (
	phaseServing  uint32 = iota
	phaseDraining        // Every answer ends its connection; idle connections stay open.
	phaseStopping        // Idle connections are closed, too.
)

func (l *fastPathPool) add(c *fastPathConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*fastPathConn]struct{}{}
	}
	l.all[c] = struct{}{}
}

func (l *fastPathPool) remove(c *fastPathConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, c)
}

// stop closes the idle connections. Each of the others closes itself after the request that it is answering.
func (l *fastPathPool) stop() {
	l.phase.Store(phaseStopping)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.all {
		if c.state.CompareAndSwap(stateIdle, stateClosing) {
			_ = c.Conn.Close()
		}
	}
}
