// Package connections bounds how many connections a listener serves at the same time, so that connections on which nothing is
// asked can neither use up the files of the process nor keep out those with a valid key.
package connections

import (
	"container/list"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Options are what New needs.
type Options struct {
	Name string // Of the listener, in log lines.
	Max  int    // Connections at the same time, at least 1.
	// Refuse answers a connection for which no place could be made, before it is closed; it must not block. [nothing is sent]
	Refuse func(net.Conn)
	Log    *slog.Logger // [discards]
}

// Listener accepts connections up to a bound. At the bound the next one takes the place of the oldest connection without a key
// that is not being served, else of a connection with a key that waits for its next request. A connection whose request is being
// served is never closed for that; where all are, the new one is refused.
//
// The server reports what a connection does through Conn.Receive, Begin, Authenticated and End.
type Listener struct {
	net.Listener
	o      Options
	done   chan struct{}
	closed sync.Once

	mu      sync.Mutex
	open    int
	keyless list.List // Of *Conn, the oldest first.
	keyed   list.List // Of *Conn, those that were last found busy at the end.
	sources map[netip.Prefix]*list.List

	failures, refused           atomic.Uint64
	closedKeyless, closedKeyed  atomic.Uint64
	failureLogged, refusalNoted atomic.Int64 // Unix seconds.
}

// Stats are the counters of a listener. Totals only grow.
type Stats struct {
	Open, Max                  int
	AcceptFailures             uint64 // Accept calls that failed and were repeated.
	Refused                    uint64 // New connections, because every other one was being served.
	ClosedKeyless, ClosedKeyed uint64 // Connections closed to take in new ones.
}

// sourceShare is the part of the bound that connections without a key from one address may have before they only replace each
// other. BOUND: a quarter, so that one machine cannot close the connections of all others that have not sent their key yet. It
// never refuses anybody, so behind a load balancer, where all clients have one address, nothing changes.
const sourceShare = 4

// scanMax is how many connections are looked at for one that can be closed. BOUND: the listener is locked meanwhile, some 10 us.
const scanMax = 256

// New bounds a listener. REQUIRES: o.Max > 0.
func New(l net.Listener, o Options) *Listener {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Listener{Listener: l, o: o, done: make(chan struct{}), sources: map[netip.Prefix]*list.List{}}
}

// Close stops listening. Accepted connections stay.
func (l *Listener) Close() error {
	l.closed.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// Stats reads the counters.
func (l *Listener) Stats() Stats {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	return Stats{
		Open: open, Max: l.o.Max, AcceptFailures: l.failures.Load(), Refused: l.refused.Load(),
		ClosedKeyless: l.closedKeyless.Load(), ClosedKeyed: l.closedKeyed.Load(),
	}
}

// admit registers a connection and reports whether there is a place for it.
func (l *Listener) admit(c *Conn) bool {
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
	c.place = l.keyless.PushBack(c)
	of := l.sources[c.source]
	if of == nil {
		of = list.New()
		l.sources[c.source] = of
	}
	c.bySource = of.PushBack(c)
	l.mu.Unlock()
	l.end(victim)
	return true
}

// makeRoom closes one connection without a key, if there is one, to give its file back.
func (l *Listener) makeRoom() {
	l.mu.Lock()
	victim := l.pick(&l.keyless, receiving)
	if victim != nil {
		l.remove(victim)
	}
	l.mu.Unlock()
	l.end(victim)
}

// victim chooses the connection that is closed for one from source; nil: there is none. LOCKS: mu is held.
func (l *Listener) victim(source netip.Prefix) *Conn {
	if of := l.sources[source]; of != nil && of.Len() > l.o.Max/sourceShare {
		if c := l.pick(of, receiving); c != nil {
			return c
		}
	}
	if c := l.pick(&l.keyless, receiving); c != nil {
		return c
	}
	return l.pick(&l.keyed, waiting)
}

// pick takes the first connection of a list whose state is at most busiest, and marks it closed. Those that it passes go to the
// end of the list, so that the next call does not look at them again. LOCKS: mu is held.
func (l *Listener) pick(from *list.List, busiest uint32) *Conn {
	for range min(from.Len(), scanMax) {
		c := from.Front().Value.(*Conn) //nolint:forcetypeassert // The lists hold nothing else.
		for s := c.state.Load(); s <= busiest; s = c.state.Load() {
			if c.state.CompareAndSwap(s, gone) {
				return c
			}
		}
		from.MoveToBack(from.Front())
	}
	return nil
}

// remove forgets a connection; a second call does nothing. LOCKS: mu is held.
func (l *Listener) remove(c *Conn) {
	if c.place == nil {
		return
	}
	l.open--
	if c.keyed.Load() {
		l.keyed.Remove(c.place)
	} else {
		l.keyless.Remove(c.place)
		l.removeSource(c)
	}
	c.place = nil
}

func (l *Listener) removeSource(c *Conn) {
	of := l.sources[c.source]
	if of.Remove(c.bySource); of.Len() == 0 {
		delete(l.sources, c.source)
	}
	c.bySource = nil
}

// end closes a connection that was chosen, if there is one.
func (l *Listener) end(c *Conn) {
	if c == nil {
		return
	}
	if c.keyed.Load() {
		l.closedKeyed.Add(1)
	} else {
		l.closedKeyless.Add(1)
	}
	_ = c.Conn.Close() // Its server sees that and closes it again.
}

// refuse answers a connection for which there is no place.
func (l *Listener) refuse(c net.Conn) {
	l.refused.Add(1)
	if seldom(&l.refusalNoted, time.Now()) {
		l.o.Log.Warn("connections_refused", slog.String("listener", l.o.Name), slog.Int("max", l.o.Max),
			slog.String("hint", "every connection is being served; raise the limit of open files, memory.limit or the connections_max of this listener"))
	}
	if l.o.Refuse != nil {
		l.o.Refuse(c)
	}
	_ = c.Close() // Nobody waits for it.
}
