package main_test

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// kind is the array in which an event is reported.
type kind int

const (
	impression kind = iota
	click
	kinds
)

var kindNames = [kinds]string{"impressions", "clicks"}

// token is a resolvedBidId that an auction returned.
type token struct {
	text     string
	campaign *campaign
	charged  bool // An event of the charged kind with this token was acknowledged. The history's lock guards it.
}

// event is an event as the shop reports it, possibly in several bodies, always with the same id and content.
type event struct {
	kind     kind
	id       string
	token    *token
	occurred string
	acked    bool // The history's lock guards it.
}

// body is one request to /v2/events. It is resent byte for byte.
type body struct {
	text   []byte
	events []*event
	acked  time.Time // When its 200 arrived; zero while the outcome is unknown.
}

// history is everything that the shop knows. INVARIANT: a body that was sent is acknowledged, or its outcome is
// unknown; there is no third state, because a refusal of a well-formed body ends the test.
type history struct {
	mu       sync.Mutex
	acked    []*body
	unknown  []*body
	audited  int       // An audit has found acked[:audited] complete.
	newest   time.Time // When the last acknowledgement arrived.
	killedAt time.Time
	stats    struct{ kills, unknown, resent int }
}

// acknowledge records a body that was answered with 200. Events that were acknowledged in an earlier body count once.
func (h *history) acknowledge(b *body) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked = append(h.acked, b)
	if b.acked.After(h.newest) {
		h.newest = b.acked
	}
	for _, e := range b.events {
		if e.acked {
			continue
		}
		e.acked = true
		c := e.token.campaign
		c.events[e.kind]++
		if e.kind == c.charge && !e.token.charged {
			e.token.charged = true
			c.charges++
		}
	}
}

// addUnknown records a body without an answer, or with an answer that leaves the outcome open.
func (h *history) addUnknown(b *body) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unknown = append(h.unknown, b)
	h.stats.unknown++
}

// takeUnknown removes and returns all bodies of unknown outcome.
func (h *history) takeUnknown() []*body {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.unknown
	h.unknown = nil
	return all
}

// recordKill records the time before the signal, so that a loss can be reported with its distance to it.
func (h *history) recordKill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.killedAt = time.Now()
	h.stats.kills++
}

// unaudited returns the acknowledged bodies that no audit has resent yet, and marks them.
func (h *history) unaudited() []*body {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := h.acked[h.audited:]
	h.audited = len(h.acked)
	return rest
}

func (h *history) everything() []*body {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.acked
}

// last returns when the newest acknowledgement arrived.
func (h *history) last() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.newest
}

// log logs how much was tested.
func (h *history) log(t testing.TB, s *killMarket) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var events, charges int64
	var out []string
	for _, c := range s.campaigns() {
		events += c.events[impression] + c.events[click]
		charges += c.charges
		if c.ranOut {
			out = append(out, c.name)
		}
	}
	t.Logf("%d kills under load: %d bodies and %d events acknowledged, %d charge keys, %d outcomes unknown and resolved, %d bodies audited; used up: %s",
		h.stats.kills, len(h.acked), events, charges, h.stats.unknown, h.stats.resent, strings.Join(out, " "))
}
