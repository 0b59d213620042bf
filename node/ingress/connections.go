package ingress

import (
	"container/list"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// ListenerOptions are the options of New.
type ListenerOptions struct {
	Name string // The name of the listener in log lines.
	Max  int    // How many connections may be open at the same time, at least 1.
	// Refuse answers a connection that is refused, before it is closed. It must not block. [nothing is sent]
	Refuse func(net.Conn)
	Log    *slog.Logger // [discards]
}

// Listener accepts connections up to a bound. At the bound a new connection replaces the oldest connection without a key whose
// request is not being served, or else an idle connection with a key. A connection with a key is one on which a request had
// a valid key. A connection whose request is being served is never closed for a new one; if there are only such, the new
// connection is refused.
//
// The server reports the progress of a connection through Conn.Receive, Begin, Authenticated and End.
type Listener struct {
	net.Listener
	o      ListenerOptions
	done   chan struct{}
	closed sync.Once

	mu      sync.Mutex
	open    int
	keyless list.List                   // The connections without a key, as *Conn, oldest first.
	keyed   list.List                   // The connections with a key; pick moves those that it finds busy to the end.
	sources map[netip.Prefix]*list.List // The connections without a key by source address.

	failures, refused            atomic.Uint64
	closedKeyless, closedKeyed   atomic.Uint64
	handshakeFailures            atomic.Uint64 // Counted by a TLSListener.
	failureLogged, refusalLogged atomic.Int64  // The times of the last log lines, in Unix seconds.
}

// ListenerStats are the counters of a listener. Totals only grow.
type ListenerStats struct {
	Open, Max                  int
	AcceptFailures             uint64 // Accept calls that failed and were repeated.
	Refused                    uint64 // New connections that were refused because all others were being served.
	ClosedKeyless, ClosedKeyed uint64 // Connections without and with a key that were closed in favour of new ones.
	HandshakeFailures          uint64 // TLS handshakes that were not completed.
}

// sourceShare limits the connections without a key from one address: with more than Max/sourceShare of them a new one
// replaces one from the same address. BOUND: a quarter, so that one machine cannot make the listener close the connections
// of all others that have not sent their key yet. It never refuses a connection, so it does no harm behind a load balancer,
// where all clients have one address.
const sourceShare = 4

// scanMax is how many connections pick examines. BOUND: the listener is locked meanwhile, for some 10 us.
const scanMax = 256

// NewListener bounds a listener. REQUIRES: o.Max > 0.
func NewListener(l net.Listener, o ListenerOptions) *Listener {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Listener{Listener: l, o: o, done: make(chan struct{}), sources: map[netip.Prefix]*list.List{}}
}

// Close stops listening. It does not close accepted connections.
func (l *Listener) Close() error {
	l.closed.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// Stats reads the counters.
func (l *Listener) Stats() ListenerStats {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	return ListenerStats{
		Open: open, Max: l.o.Max, AcceptFailures: l.failures.Load(), Refused: l.refused.Load(),
		ClosedKeyless: l.closedKeyless.Load(), ClosedKeyed: l.closedKeyed.Load(),
		HandshakeFailures: l.handshakeFailures.Load(),
	}
}

// register adds a connection, at the bound in place of another one. It reports false if the connection must be refused.
func (l *Listener) register(c *Conn) bool {
	l.mu.Lock()
	var victim *Conn
	if l.open >= l.o.Max {
		if victim = l.victim(c.source); victim == nil {
			l.mu.Unlock()
			return false
		}
		l.remove(victim)
	}
	l.open++
	c.element = l.keyless.PushBack(c)
	of := l.sources[c.source]
	if of == nil {
		of = list.New()
		l.sources[c.source] = of
	}
	c.sourceElement = of.PushBack(c)
	l.mu.Unlock()
	l.closeVictim(victim)
	return true
}

// freeDescriptor closes one connection without a key, if there is one, to free its file descriptor.
func (l *Listener) freeDescriptor() {
	l.mu.Lock()
	victim := l.pick(&l.keyless, stateReceiving)
	if victim != nil {
		l.remove(victim)
	}
	l.mu.Unlock()
	l.closeVictim(victim)
}

// victim returns the connection that is closed in favour of a new one from source, or nil if there is none. LOCKS: mu is held.
func (l *Listener) victim(source netip.Prefix) *Conn {
	if of := l.sources[source]; of != nil && of.Len() > l.o.Max/sourceShare {
		if c := l.pick(of, stateReceiving); c != nil {
			return c
		}
	}
	if c := l.pick(&l.keyless, stateReceiving); c != nil {
		return c
	}
	return l.pick(&l.keyed, stateIdle)
}

// pick returns the first connection of a list whose state is at most busiest, and marks it as closed. It moves the
// connections before it to the end of the list, so that the next call does not examine them again. LOCKS: mu is held.
func (l *Listener) pick(from *list.List, busiest uint32) *Conn {
	for range min(from.Len(), scanMax) {
		c := from.Front().Value.(*Conn) //nolint:forcetypeassert // The lists hold nothing else.
		for s := c.state.Load(); s <= busiest; s = c.state.Load() {
			if c.state.CompareAndSwap(s, stateClosed) {
				return c
			}
		}
		from.MoveToBack(from.Front())
	}
	return nil
}

// remove removes a connection from all lists. A second call does nothing. LOCKS: mu is held.
func (l *Listener) remove(c *Conn) {
	if c.element == nil {
		return
	}
	l.open--
	if c.keyed.Load() {
		l.keyed.Remove(c.element)
	} else {
		l.keyless.Remove(c.element)
		l.removeSource(c)
	}
	c.element = nil
}

func (l *Listener) removeSource(c *Conn) {
	of := l.sources[c.source]
	if of.Remove(c.sourceElement); of.Len() == 0 {
		delete(l.sources, c.source)
	}
	c.sourceElement = nil
}

// closeVictim closes and counts a connection that pick returned. c may be nil.
func (l *Listener) closeVictim(c *Conn) {
	if c == nil {
		return
	}
	if c.keyed.Load() {
		l.closedKeyed.Add(1)
	} else {
		l.closedKeyless.Add(1)
	}
	_ = c.Conn.Close() // Its server gets an error and calls Close again.
}

// refuse answers and closes a connection beyond the bound.
func (l *Listener) refuse(c net.Conn) {
	l.refused.Add(1)
	if logDue(&l.refusalLogged, time.Now()) {
		l.o.Log.Warn("connections_refused", slog.String("listener", l.o.Name), slog.Int("max", l.o.Max),
			slog.String("hint", "every connection is being served; raise the limit of open files, memory.limit or the connections_max of this listener"))
	}
	if l.o.Refuse != nil {
		l.o.Refuse(c)
	}
	_ = c.Close() // An error does not matter.
}
