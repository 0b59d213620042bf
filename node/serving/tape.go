package serving

import (
	"bytes"
	"sync"

	"github.com/gavel-ads/gavel/shard/auction"
)

// Bounds of what is recorded of live requests.
const (
	tapeRequestsMax = 10_000    // BOUND: requests.
	tapeBytesMax    = 32 << 20  // BOUND: of their bodies.
	tapeBodyMax     = 256 << 10 // BOUND: of one body; a larger one is only counted.
)

// tape keeps the bodies of the last live requests for auctions that were drawn for explanation, so that they can be held
// again under a supposition. Of every drawn request of a marketplace it either has the body or counts that it has not.
//
// OWNERSHIP: a recorded request is never written again; readers share it.
type tape struct {
	mu    sync.Mutex
	ring  []recorded // The oldest is at first.
	first int
	bytes int
	since int64 // Whatever was drawn after this time is here, in milliseconds.
}

// recorded is a request and what else decided about its auctions.
type recorded struct {
	marketplace uint16
	operation   string
	body        []byte // Empty: it was too large.
	ticket      auction.Ticket
}

func newTape(nowMillis int64) *tape { return &tape{since: nowMillis} }

// record keeps the request that was just answered. It copies the body, once in so many requests.
func (t *tape) record(sc *Scratch, marketplace uint16, operation string) {
	r := recorded{marketplace: marketplace, operation: operation, ticket: sc.ticket}
	r.ticket.Signer, r.ticket.Stale = nil, nil
	if len(sc.request.Body) <= tapeBodyMax {
		r.body = bytes.Clone(sc.request.Body)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring = append(t.ring, r)
	t.bytes += len(r.body)
	for len(t.ring)-t.first > tapeRequestsMax || t.bytes > tapeBytesMax {
		oldest := &t.ring[t.first]
		t.since = oldest.ticket.NowMillis
		t.bytes -= len(oldest.body)
		*oldest = recorded{}
		t.first++
	}
	if t.first > len(t.ring)/2 {
		n := copy(t.ring, t.ring[t.first:])
		clear(t.ring[n:])
		t.ring, t.first = t.ring[:n], 0
	}
}

// of returns what is recorded of a marketplace, oldest first, and since when all of it is.
func (t *tape) of(marketplace uint16) (all []recorded, since int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := t.first; i < len(t.ring); i++ {
		if t.ring[i].marketplace == marketplace {
			all = append(all, t.ring[i])
		}
	}
	return all, t.since
}
