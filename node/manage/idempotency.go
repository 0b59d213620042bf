package manage

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// Bounds of the stored answers to POSTs.
const (
	answerKeyMax   = 64             // BOUND: characters of an Idempotency-Key. It is the interface's.
	answerLifetime = 24 * time.Hour // BOUND: how long an answer is stored. It is the interface's.
	answersMax     = 10_000         // BOUND: stored answers; the oldest is dropped first.
	answerBytesMax = 64 << 20       // BOUND: bytes of all stored bodies together.
)

// answerCache stores the answers to POSTs with an Idempotency-Key. A repeat with the same body gets the same answer and changes
// nothing, and one with another body is refused.
//
// The cache belongs to this node and ends with the process. The ids outlive it: the ids of everything that a request with an
// Idempotency-Key creates or books follow from key and request (store.WithIdempotencyKey), so a repeat after a restart, or after
// an unknown outcome, finds its own campaign and books a deposit once. API keys are the exception: their text must be random, so
// a repeat after a restart makes another key. Refusals are stored as well; answers of 500 and above are not, so that a repeat tries
// again.
type answerCache struct {
	mu    sync.Mutex
	byKey map[answerKey]*cachedAnswer
	order []answerKey // Oldest first.
	bytes int
}

type answerKey struct{ apiKey, text string }

// cachedAnswer is one stored answer. LOCKS: mu is held while the request runs, so that a repeat at the same moment waits.
type cachedAnswer struct {
	mu      sync.Mutex
	request [sha256.Size]byte
	expires time.Time
	answer  *bufferedResponse // Nil while the first request runs, or when its answer must not be stored.
	size    int               // Bytes of the answer, as counted in answerCache. LOCKS: answerCache.mu.
}

func newAnswerCache() *answerCache { return &answerCache{byKey: map[answerKey]*cachedAnswer{}} }

// serveIdempotent serves a request, or repeats the answer that an equal request got.
func (s *Server) serveIdempotent(a *bufferedResponse, r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	text := r.Header.Get("Idempotency-Key")
	if r.Method != http.MethodPost || text == "" {
		s.serve(a, r)
		return
	}
	if len(text) > answerKeyMax {
		s.refuse(a, apierr.BadRequest, "Idempotency-Key must have at most 64 characters")
		return
	}
	caller := resource.CallerOf(r.Context())
	key := answerKey{caller.KeyID + caller.Vendor, text} // All ids of keys have the same length, so the text is unambiguous.
	request := fingerprint(r, body)
	known := s.answers.find(key, request, s.deps.Now())
	known.mu.Lock()
	defer known.mu.Unlock()
	switch {
	case known.request != request:
		s.refuse(a, apierr.InvalidOperation, "this Idempotency-Key was used with another request")
	case known.answer != nil:
		known.answer.copyTo(a)
	default:
		s.serve(a, r.WithContext(store.WithIdempotencyKey(r.Context(), seed(key, request))))
		if a.status < http.StatusInternalServerError {
			known.answer = newBufferedResponse()
			a.copyTo(known.answer)
			s.answers.account(key, known, a.body.Len())
		}
	}
}

// seed is what the ids of everything that the request creates are derived from; the same for every repeat.
func seed(k answerKey, request [sha256.Size]byte) [sha256.Size]byte {
	b := append([]byte(k.apiKey), 0)
	b = append(append(b, k.text...), 0)
	return sha256.Sum256(append(b, request[:]...))
}

func fingerprint(r *http.Request, body []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(r.URL.RequestURI())) // It contains no line feed.
	h.Write([]byte{'\n'})
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// find returns the entry of a key, or a new one.
func (p *answerCache) find(key answerKey, request [sha256.Size]byte, now time.Time) *cachedAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.order) > 0 && !now.Before(p.byKey[p.order[0]].expires) {
		p.dropOldest()
	}
	if known := p.byKey[key]; known != nil {
		return known
	}
	if len(p.order) >= answersMax {
		p.dropOldest()
	}
	fresh := &cachedAnswer{request: request, expires: now.Add(answerLifetime)}
	p.byKey[key] = fresh
	p.order = append(p.order, key)
	return fresh
}

// account counts a stored body and makes space for it. An entry that was dropped while its answer was made is not counted.
func (p *answerCache) account(key answerKey, known *cachedAnswer, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] != known {
		return
	}
	known.size = size
	p.bytes += size
	for p.bytes > answerBytesMax && len(p.order) > 1 {
		p.dropOldest()
	}
}

// dropOldest drops the oldest answer. LOCKS: mu is held.
func (p *answerCache) dropOldest() {
	p.bytes -= p.byKey[p.order[0]].size
	delete(p.byKey, p.order[0])
	p.order = p.order[1:]
}

func (a *bufferedResponse) copyTo(b *bufferedResponse) {
	b.header = a.header.Clone()
	b.status = a.status
	b.body.Write(a.body.Bytes())
}
