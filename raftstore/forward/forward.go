// Package forward carries proposals and reads from a node that does not lead a group to the node that does, and repeats
// them until the leader has answered. All groups share one connection to each peer.
package forward

import (
	"context"
	"errors"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/raftstore/leadership"
	"github.com/gavel-ads/gavel/raftstore/proposal"
)

const (
	// RequestsMax bounds the requests on their way to one peer, and the requests of one connection that a leader
	// works on at once.
	RequestsMax     = 4_096
	linkDialTimeout = 2 * time.Second // Bounds the dial of a forward connection.
	// linkAnswerTimeout is how long a request waits while nothing arrives on its connection; then the connection is
	// closed, and the next attempt dials a new one.
	linkAnswerTimeout = 2 * time.Second
	// linkAnswerTimeoutMin is the shortest such wait, however near the deadline of the request is.
	linkAnswerTimeoutMin = 250 * time.Millisecond
)

// operation is what a request asks for.
type operation byte

// Operations and answers of a forward connection:
//
//	request  len u32 | op u8 | id u64 | group u16 | payload
//	answer   len u32 | status u8 | id u64 | payload: index u64 | the result; or the leader's address
//
// Numbers are big-endian.
const (
	opPropose   operation = 1
	opReadIndex operation = 2

	frameHead       = 4 + 1 + 8
	requestHead     = frameHead + 2
	indexBytes      = 8
	frameBytesMax   = proposal.CommandBytesMax + requestHead + indexBytes
	statusOK        = 0
	statusNotLeader = 1
	statusOverload  = 2
	statusTooLarge  = 3
	statusUnknown   = 4
	statusNoSpace   = 5
)

var errLinkLost = errors.New("the connection to the leader was lost")

// Dial opens a forward connection to the peer at an address.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// Client holds this node's forward connections, one to each peer. All groups share a connection, and answers come in
// any order. Commands travel one by one and not in batches, because the leader's batcher packs them with its own. Its
// methods are safe for concurrent use.
type Client struct {
	dial Dial

	mu      sync.Mutex
	byAddr  map[string]*link
	dialing map[string]chan struct{} // Closed when the dial ends.
	closed  bool
	done    sync.WaitGroup

	dialed    atomic.Uint64
	forwarded atomic.Uint64
	lost      atomic.Uint64
}

// NewClient returns a client without connections; Close ends those that it opens.
func NewClient(dial Dial) *Client {
	return &Client{dial: dial, byAddr: map[string]*link{}, dialing: map[string]chan struct{}{}}
}

// Stats are the figures of a client since it was made.
type Stats struct {
	Requests uint64 // Requests sent to leaders.
	Dialed   uint64 // Connections opened.
	Lost     uint64 // Connections that ended.
}

// Stats reads the figures.
func (l *Client) Stats() Stats { return Stats{l.forwarded.Load(), l.dialed.Load(), l.lost.Load()} }

// Group is a group whose requests are forwarded.
type Group struct {
	ID   uint16
	Own  string // The address of this node.
	Lead *leadership.Group
}

// request sends one request of a group to the peer at address and waits for the answer; see exchange. errNotSent means
// that the request did not leave this node.
func (l *Client) request(ctx context.Context, g Group, address string, op operation, payload []byte) (frame, error) {
	believed := g.Lead.Address()
	k, err := l.get(ctx, address)
	if err != nil {
		return frame{}, err
	}
	l.forwarded.Add(1)
	id, answer, err := k.register()
	if err != nil {
		return frame{}, err
	}
	f, sent, waited := k.exchange(ctx, g, address, believed, encodeRequest(op, id, g.ID, payload), answer)
	if waited != 0 {
		f.err = errLinkLost
		k.unregister(id)
		if time.Since(k.lastAnswer.Time()) >= waited {
			l.closeLink(address, k)
		}
	}
	if f.err != nil && !sent {
		return frame{}, errNotSent
	}
	return f, f.err
}

// errNotSent means that the request did not leave this node, so it was not applied.
var errNotSent = errors.New("the leader cannot be reached")

// get returns the connection to a peer, and dials if there is none. One caller dials; the others share its result, so
// that all look for the leader again when it cannot be reached.
func (l *Client) get(ctx context.Context, address string) (*link, error) {
	l.mu.Lock()
	k, dialing, closed := l.byAddr[address], l.dialing[address], l.closed
	if k == nil && dialing == nil && !closed {
		l.dialing[address] = make(chan struct{})
	}
	l.mu.Unlock()
	switch {
	case closed:
		return nil, errNotSent
	case k != nil:
		return k, nil
	case dialing == nil:
		return l.open(ctx, address)
	}
	select {
	case <-dialing:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if k = l.byAddr[address]; k == nil {
		return nil, errNotSent
	}
	return k, nil
}

// closeLink closes a connection and ends everything that waits for it.
func (l *Client) closeLink(address string, k *link) {
	l.mu.Lock()
	if l.byAddr[address] == k {
		delete(l.byAddr, address)
	}
	l.mu.Unlock()
	k.once.Do(func() {
		l.lost.Add(1)
		close(k.closed)
		k.conn.Close()
		k.mu.Lock()
		for id, answer := range k.waiting {
			answer <- frame{err: errLinkLost}
			delete(k.waiting, id)
		}
		k.waiting = nil
		k.mu.Unlock()
	})
}

// Close closes all connections and ends everything that waits for an answer.
func (l *Client) Close() {
	l.mu.Lock()
	l.closed = true
	all := maps.Clone(l.byAddr)
	l.mu.Unlock()
	for address, k := range all {
		l.closeLink(address, k)
	}
	l.done.Wait()
}
