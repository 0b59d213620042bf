package serving

import (
	"bytes"
	"sync"

	"github.com/gavel-ads/gavel/shard/auction"
)

// Bounds of the recorder.
const (
	recorderRequestsMax = 10_000    // BOUND: requests.
	recorderBytesMax    = 32 << 20  // BOUND: bytes of all bodies and names.
	recorderBodyMax     = 256 << 10 // BOUND: bytes of one body; a request with a larger one is kept without its body.
)

// recorder keeps the newest sampled requests for auctions, so that Replay can run them again under a supposition. For every
// sampled request since the time in since it has either the body or an entry without one.
//
// OWNERSHIP: a recorded request is never changed; readers share it.
type recorder struct {
	mu    sync.Mutex
	ring  []recorded // The entries before first are empty, the oldest request is at first.
	first int
	bytes int
	since int64 // All requests that were sampled after this time are in the ring. In milliseconds since 1970.
}

// recorded is a request and the other inputs of its auctions.
type recorded struct {
	marketplace uint16
	operation   string
	body        []byte // Empty if it was too large.
	ticket      auction.Params
	placed      []placedAuction // In the order of the request; listings are not among them.
	bytes       int             // Of body and the names in placed.
}

func newRecorder(nowMillis int64) *recorder { return &recorder{since: nowMillis} }

// record stores the request that was just answered. It copies the body.
func (t *recorder) record(sc *Scratch, marketplace uint16, operation string) {
	r := recorded{marketplace: marketplace, operation: operation, ticket: sc.ticket}
	r.ticket.Signer, r.ticket.Stale = nil, nil
	if len(sc.request.Body) <= recorderBodyMax {
		r.body = bytes.Clone(sc.request.Body)
	}
	r.placed, r.bytes = sc.placedAuctions(), len(r.body)
	for i := range r.placed {
		r.bytes += len(r.placed[i].name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring = append(t.ring, r)
	t.bytes += r.bytes
	for len(t.ring)-t.first > recorderRequestsMax || t.bytes > recorderBytesMax {
		oldest := &t.ring[t.first]
		t.since = oldest.ticket.NowMillis
		t.bytes -= oldest.bytes
		*oldest = recorded{}
		t.first++
	}
	if t.first > len(t.ring)/2 {
		n := copy(t.ring, t.ring[t.first:])
		clear(t.ring[n:])
		t.ring, t.first = t.ring[:n], 0
	}
}

// requestsOf returns the recorded requests of a marketplace, oldest first, and the time since which they are complete, in
// milliseconds since 1970.
func (t *recorder) requestsOf(marketplace uint16) (all []recorded, since int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := t.first; i < len(t.ring); i++ {
		if t.ring[i].marketplace == marketplace {
			all = append(all, t.ring[i])
		}
	}
	return all, t.since
}
