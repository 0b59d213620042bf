package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/node/nodetest"
)

const (
	workers = 24
	// exchangeMax is how long a worker waits for an answer before the outcome counts as unknown.
	exchangeMax = 5 * time.Second
	// resendMax is how long an unknown outcome may stay unknown on a node that is ready.
	resendMax = 20 * time.Second
	// failuresMax exchanges of a worker in a row without an answer, five seconds at least, mean that the node is gone.
	failuresMax = 1_000
)

// load is the storefront: workers that run auctions and report events, also repeated and inconsistent ones.
type load struct {
	node    *nodetest.Node
	stage   *killMarket
	history *history
	workers []*worker
	struck  *sync.Once
	stopped atomic.Bool
	acks    atomic.Int64

	recent struct { // Tokens that other workers report, too: the same click from two browsers.
		sync.Mutex
		tokens [256]*token
	}
}

func newLoad(node *nodetest.Node, s *killMarket, h *history, seed uint64) *load {
	l := &load{node: node, stage: s, history: h}
	for i := range workers {
		l.workers = append(l.workers, &worker{load: l, number: i, r: rand.New(rand.NewPCG(seed, 100+uint64(i)))})
	}
	return l
}

// run loads the node until it is killed: after the time strikeAfter, or by the worker that receives acknowledgement number
// strikeAt; the one that is 0 does not count. That worker runs the kill before it does anything else.
func (l *load) run(t testing.TB, strikeAt int, strikeAfter time.Duration, kill func()) {
	t.Helper()
	l.struck = new(sync.Once)
	l.stopped.Store(false)
	l.acks.Store(0)
	if strikeAfter > 0 {
		timer := time.AfterFunc(strikeAfter, func() { l.stopAndKill(kill) })
		defer timer.Stop()
	}
	var group sync.WaitGroup
	for _, w := range l.workers {
		group.Go(func() {
			if err := w.run(strikeAt, kill); err != nil {
				t.Error(err)
				l.stopAndKill(kill)
			}
		})
	}
	group.Wait()
	l.struck.Do(func() {}) // The workers stop when a kill begins. This waits until it has ended.
	if t.Failed() {
		t.FailNow()
	}
}

// stopAndKill kills the node, once per run. Workers stop after their current exchange.
func (l *load) stopAndKill(kill func()) {
	l.struck.Do(func() {
		l.stopped.Store(true)
		kill()
	})
}

// resendUnknown resends every body of unknown outcome until it is acknowledged.
func (l *load) resendUnknown(t testing.TB) {
	t.Helper()
	l.each(t, l.history.takeUnknown(), func(c *driver.Conn, b *body) error {
		deadline := time.Now().Add(resendMax)
		for {
			status, answer, err := c.Post("/v2/events", b.text)
			switch {
			case err == nil && status == http.StatusOK:
				b.acked = time.Now()
				l.history.acknowledge(b)
				return nil
			case err == nil && status/100 == 4:
				return fmt.Errorf("a body of unknown outcome was refused when it was resent: %d %s", status, answer)
			case time.Now().After(deadline):
				return fmt.Errorf("a body of unknown outcome stays unknown on a ready node: %d %s %w", status, answer, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// each calls a function for every body, on several connections.
func (l *load) each(t testing.TB, bodies []*body, do func(c *driver.Conn, b *body) error) {
	t.Helper()
	const connections = 8
	next := make(chan *body)
	var group sync.WaitGroup
	for range connections {
		group.Go(func() {
			c, err := l.dial()
			if err != nil {
				t.Error(err)
			}
			for b := range next {
				if err == nil {
					if fault := do(c, b); fault != nil {
						t.Error(fault)
					}
				}
			}
			if err == nil {
				c.Close()
			}
		})
	}
	for _, b := range bodies {
		next <- b
	}
	close(next)
	group.Wait()
}

func (l *load) dial() (*driver.Conn, error) {
	return driver.NewConn(l.node.AuctionURL, l.node.Keys.AuctionKey, exchangeMax)
}

// worker is one connection of the storefront.
type worker struct {
	load   *load
	number int
	r      *rand.Rand
	counts [kinds]int // Number of events.
	fresh  []*token   // From its last auctions, not reported yet.
	sent   []*event   // Events of its last bodies, some of which are reported again.
}

func (w *worker) run(strikeAt int, kill func()) error {
	c, err := w.load.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	for failures := 0; !w.load.stopped.Load(); {
		ok, err := w.step(c, strikeAt, kill)
		if err != nil {
			return err
		}
		if failures++; ok {
			failures = 0
		}
		if failures > 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if failures == failuresMax {
			return fmt.Errorf("the node answers nothing, and nobody has killed it:\n%s", w.load.node.LogTail())
		}
	}
	return nil
}

// step makes one exchange; ok is true when it was answered.
func (w *worker) step(c *driver.Conn, strikeAt int, kill func()) (ok bool, err error) {
	if len(w.fresh) == 0 {
		return w.auction(c)
	}
	b := w.compose()
	status, answer, err := c.Post("/v2/events", b.text)
	switch {
	case err == nil && status == http.StatusOK:
		b.acked = time.Now()
		if strikeAt > 0 && w.load.acks.Add(1) == int64(strikeAt) {
			w.load.stopAndKill(kill)
		}
		w.load.history.acknowledge(b)
		return true, nil
	case err == nil && status/100 == 4:
		return false, fmt.Errorf("a well-formed body was refused: %d %s\n%s", status, answer, b.text)
	default:
		w.load.history.addUnknown(b)
		return false, nil
	}
}

// auction gets tokens. A failure does not matter, because an auction changes nothing.
func (w *worker) auction(c *driver.Conn) (ok bool, err error) {
	var b strings.Builder
	b.WriteString(`{"auctions":[`)
	for i := range 3 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"type":"listings","slots":40,"products":{"ids":["`)
		for j, p := range w.r.Perm(len(w.load.stage.products))[:24] {
			if j > 0 {
				b.WriteString(`","`)
			}
			b.WriteString(w.load.stage.products[p])
		}
		b.WriteString(`"]}}`)
	}
	b.WriteString(`]}`)
	status, answer, err := c.Post("/v2/auctions", []byte(b.String()))
	if err != nil || status/100 == 5 {
		return false, nil //nolint:nilerr // Not an answer; the loop tries again or ends.
	}
	if status != http.StatusCreated {
		return false, fmt.Errorf("an auction was refused: %d %s", status, answer)
	}
	var got struct {
		Results []struct {
			Winners []struct{ ResolvedBidID, CampaignID string }
		}
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return false, fmt.Errorf("%w in %s", err, answer)
	}
	for _, r := range got.Results {
		for _, winner := range r.Winners {
			campaign := w.load.stage.byID[winner.CampaignID]
			if campaign == nil || winner.ResolvedBidID == "" {
				return false, fmt.Errorf("a winner of campaign %q with token %q", winner.CampaignID, winner.ResolvedBidID)
			}
			w.fresh = append(w.fresh, &token{text: winner.ResolvedBidID, campaign: campaign})
		}
	}
	return true, nil
}

// compose makes a body of one to eight steps, with the behaviour of retry loops, double clicks and broken browsers:
// mostly an impression and a click of a new token, sometimes an event that was reported before, one event twice in the
// body, a second click on a token under another id, or a click on a token that another worker reports, too.
func (w *worker) compose() *body {
	b := &body{}
	for range 1 + w.r.IntN(8) {
		if len(w.fresh) == 0 {
			break
		}
		switch p := w.r.IntN(20); {
		case p == 0 && len(w.sent) > 0:
			b.events = append(b.events, w.sent[w.r.IntN(len(w.sent))])
		case p == 1:
			if other := w.exchangeToken(w.fresh[0]); other != nil {
				b.events = append(b.events, w.event(click, other), w.event(impression, other))
			}
		default:
			tok := w.fresh[0]
			w.fresh = w.fresh[1:]
			b.events = append(b.events, w.steps(tok, p)...)
		}
	}
	if len(b.events) == 0 {
		b.events = append(b.events, w.event(impression, w.fresh[0]))
	}
	w.remember(b.events)
	b.text = compose(b.events)
	return b
}

// steps returns the events of one token.
func (w *worker) steps(tok *token, p int) []*event {
	seen, clicked := w.event(impression, tok), w.event(click, tok)
	switch {
	case p < 5:
		return []*event{seen}
	case p < 8:
		return []*event{seen, clicked, clicked} // The same event twice in one body.
	case p < 11:
		return []*event{seen, clicked, w.event(click, tok), w.event(impression, tok)} // New ids, the same token.
	}
	return []*event{seen, clicked}
}

// event returns a new event. Each array has its own ids: w3-17 among the impressions and w3-17 among the clicks are
// unrelated.
func (w *worker) event(k kind, tok *token) *event {
	w.counts[k]++
	return &event{
		kind: k, id: fmt.Sprintf("w%d-%d", w.number, w.counts[k]), token: tok,
		occurred: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	}
}

func (w *worker) remember(events []*event) {
	const most = 64
	w.sent = append(w.sent, events...)
	if len(w.sent) > most {
		w.sent = append([]*event(nil), w.sent[len(w.sent)-most/2:]...)
	}
}

// exchangeToken gives a token to other workers and returns one of theirs, or nil when there is none yet.
func (w *worker) exchangeToken(own *token) *token {
	r := &w.load.recent
	r.Lock()
	defer r.Unlock()
	i := w.r.IntN(len(r.tokens))
	other := r.tokens[i]
	r.tokens[i] = own
	return other
}

// compose writes the JSON of events.
func compose(events []*event) []byte {
	var arrays [kinds][]string
	for _, e := range events {
		arrays[e.kind] = append(arrays[e.kind], fmt.Sprintf(
			`{"id":%q,"occurredAt":%q,"opaqueUserId":"user-%d","resolvedBidId":%q}`, e.id, e.occurred, len(e.id)%7, e.token.text))
	}
	var parts []string
	for k, list := range arrays {
		if len(list) > 0 {
			parts = append(parts, fmt.Sprintf("%q:[%s]", kindNames[k], strings.Join(list, ",")))
		}
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}
