package manage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// A repeat of a POST with an Idempotency-Key and the same body gets the answer of the first request and changes nothing, on
// whatever node and after a restart; one with another body is refused. Two things make it so.
//
// Whatever a request creates or posts to a ledger has ids that follow from key and request (store.WithIdempotencyKey),
// and so do the texts of API keys (store.WithSecretSeed). The command that creates it is recognised as a repeat by the
// state machine, so a repeat finds its own campaign and its own API key, and deposits once, whenever the first request stopped.
//
// The answer is stored after the change, in the replicated state (store.PutAnswer). Answers contain secrets, such as new API
// keys, so they are encrypted, with a key that follows from a secret of the cluster, the caller's own API key, the
// Idempotency-Key and the request. The cluster stores neither of the latter three, so a stolen backup does not open an answer,
// and an answer that does not open belongs to another request.
//
// Refusals are stored as well; answers of 500 and above are not, so that a repeat tries again. Two different requests with one
// key at the same moment on two nodes may both be carried out.
const (
	answerKeyMax  = 64       // BOUND: characters of an Idempotency-Key. It is the interface's.
	answerBodyMax = 16 << 10 // BOUND: bytes of a stored body. A request with a longer answer is carried out again when it is repeated.
)

// storedAnswer is an answer as it is encrypted.
type storedAnswer struct {
	Status int // 0 when the body was too long to be stored.
	Header http.Header
	Body   []byte
}

// idempotent is a request with an Idempotency-Key.
type idempotent struct {
	id   ids.UUID // Of its answer, by caller and Idempotency-Key.
	seal [32]byte // The key of its answer.
}

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
	x, ctx := s.identifyRepeats(r, text, body)
	defer s.running.enter(x.id)()
	answers := resource.Tenant(r.Context())
	known, err := answers.Answer(r.Context(), x.id)
	switch {
	case err == nil:
		if stored, own := x.open(known); !own {
			s.refuse(a, apierr.InvalidOperation, "this Idempotency-Key was used with another request")
			return
		} else if stored.Status != 0 {
			stored.writeTo(a)
			return
		}
	case !errors.Is(err, store.ErrNotFound):
		s.refuse(a, apierr.ServiceUnavailable, "")
		return
	}
	s.serve(a, r.WithContext(ctx))
	if a.status >= http.StatusInternalServerError || r.Context().Err() != nil {
		return
	}
	first, err := answers.PutAnswer(context.WithoutCancel(r.Context()), x.id, sealed(x.seal, x.id, encode(a)))
	if err != nil { // The change is made, so its answer is sent. A repeat finds the change by its ids.
		s.deps.Log.Warn("answer_not_stored", slog.String("operation", s.routes.of(r).operation), slog.Any("err", err))
		return
	}
	if stored, own := x.open(first); own && stored.Status != 0 { // Of two equal requests on two nodes, both get the faster's answer.
		*a = *newBufferedResponse()
		stored.writeTo(a)
	}
}

// identifyRepeats returns what a request and its repeats have in common, and a context whose ids and secrets follow from it.
func (s *Server) identifyRepeats(r *http.Request, text string, body []byte) (idempotent, context.Context) {
	caller := resource.CallerOf(r.Context())
	name := caller.KeyID + caller.Vendor // All ids of keys have the same length, so the text is unambiguous.
	own := ""
	if caller.UserID != "" {
		name, own = caller.Name()+"/"+caller.Vendor, s.deps.Console.Secret(r)
	} else if caller.Vendor == "" { // The tokens of vendors change, and their operations answer no secrets.
		own = r.Header.Get("Authorization")
		own = own[strings.LastIndex(own, " ")+1:]
	}
	request := fingerprint(r, body)
	cluster := s.deps.Tenant(caller.Marketplace).CursorKey()
	id := derive(cluster, "gavel/answer/id", name, text)
	parts := []string{name, own, text, string(request[:])}
	ctx := store.WithIdempotencyKey(r.Context(), seed(name, text, request))
	ctx = store.WithSecretSeed(ctx, derive(cluster, "gavel/answer/secrets", parts...))
	return idempotent{ids.UUID(id[:16]), derive(cluster, "gavel/answer/seal", parts...)}, ctx
}

// seed is what the ids of everything that the request creates are derived from; the same for every repeat.
func seed(caller, text string, request [sha256.Size]byte) [sha256.Size]byte {
	b := append([]byte(caller), 0)
	b = append(append(b, text...), 0)
	return sha256.Sum256(append(b, request[:]...))
}

func fingerprint(r *http.Request, body []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(r.URL.RequestURI())) // It contains no line feed.
	h.Write([]byte{'\n'})
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// open decrypts a stored answer. It reports false when the answer belongs to another request.
func (x *idempotent) open(content []byte) (stored storedAnswer, own bool) {
	plain, own := unsealed(x.seal, x.id, content)
	own = own && json.Unmarshal(plain, &stored) == nil
	return stored, own
}

func (stored *storedAnswer) writeTo(a *bufferedResponse) {
	a.status = stored.Status
	maps.Copy(a.header, stored.Header)
	a.body.Write(stored.Body)
}

func encode(a *bufferedResponse) []byte {
	stored := storedAnswer{a.status, a.header, a.body.Bytes()}
	if len(stored.Body) > answerBodyMax {
		stored = storedAnswer{}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		panic("manage: an answer cannot be encoded as JSON: " + err.Error())
	}
	return text
}

// inFlight lets equal requests of this node wait for one another, so that a repeat at the same moment gets the first answer.
type inFlight struct {
	mu   sync.Mutex
	byID map[ids.UUID]*flight
}

// flight is a request that runs and those that wait for it.
type flight struct {
	sync.Mutex
	requests int // LOCKS: inFlight.mu.
}

func newInFlight() *inFlight { return &inFlight{byID: map[ids.UUID]*flight{}} }

// enter waits until no other request with the id runs. leave lets the next one go on.
func (f *inFlight) enter(id ids.UUID) (leave func()) {
	f.mu.Lock()
	x := f.byID[id]
	if x == nil {
		x = &flight{}
		f.byID[id] = x
	}
	x.requests++
	f.mu.Unlock()
	x.Lock()
	return func() {
		x.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		if x.requests--; x.requests == 0 {
			delete(f.byID, id)
		}
	}
}
