package scenarios

import (
	"context"
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
)

// clicks measures charged events: it sends bodies of clicks, each on its own token that was won in a real auction before the clock
// started, and nothing else.
type clicks struct {
	env    *Env
	tokens *Tokens
}

func (s *clicks) Prepare(ctx context.Context, env *Env) (err error) {
	s.env = env
	s.tokens, err = fetchTokens(ctx, env, env.Tokens)
	return err
}

func (s *clicks) Worker(i int) Worker {
	return &clicksWorker{tokens: s.tokens, perBody: s.env.Events, writer: newWriter(s.env, i)}
}

type clicksWorker struct {
	tokens  *Tokens
	perBody int
	writer  *writer
}

func (w *clicksWorker) Next(r *Request) bool {
	first, ok := w.tokens.Take(w.perBody)
	if !ok {
		return false
	}
	w.writer.begin()
	for i := range w.perBody {
		w.writer.click(w.tokens.At(first + i))
	}
	w.writer.finish(r)
	return true
}

func (*clicksWorker) Answer(*Request, []byte) {}

// writer builds the event bodies of one worker with ids that no other worker and no other run has.
type writer struct {
	events  traffic.Events
	event   traffic.Event
	prefix  []byte // The run and the worker.
	id      []byte
	stamp   []byte
	stamped time.Time
	now     func() time.Time
	count   uint64
	perUser uint64 // Events of a user.
	request Request
}

func newWriter(env *Env, worker int) *writer {
	prefix := append([]byte(env.Run), '-')
	prefix = append(strconv.AppendInt(prefix, int64(worker), 36), '-')
	return &writer{prefix: prefix, now: env.Now, perUser: 1_000}
}

// begin starts a body, whose events occurred now. The text of the time is made once every 100 ms.
func (w *writer) begin() {
	w.events.Reset()
	w.request = Request{Path: EventsPath}
	if now := w.now(); now.Sub(w.stamped) > 100*time.Millisecond {
		w.stamped, w.stamp = now, traffic.AppendTime(w.stamp[:0], now)
	}
	w.event.Occurred = w.stamp
}

// next gives the next event its id and user. Each user of the worker makes perUser events, and an id is its user's name and
// a number: a-0-1c-7 is event 7 of user a-0-1c.
func (w *writer) next(token []byte) *traffic.Event {
	w.count++
	w.id = append(w.id[:0], w.prefix...)
	w.id = strconv.AppendUint(w.id, w.count/w.perUser, 36)
	user := len(w.id)
	w.id = append(w.id, '-')
	w.id = strconv.AppendUint(w.id, w.count%w.perUser, 36)
	w.event.ID, w.event.User, w.event.ResolvedBidID = w.id, w.id[:user], token
	return &w.event
}

func (w *writer) impression(token []byte) {
	w.events.Impression(w.next(token))
	w.request.Impressions++
}

func (w *writer) click(token []byte) {
	w.events.Click(w.next(token))
	w.request.Clicks++
}

func (w *writer) pageview(page, id string) {
	w.events.Pageview(w.next(nil), page, id)
	w.request.Others++
}

func (w *writer) purchase(product string, priceMinor int64) {
	w.events.Purchase(w.next(nil), product, 1, priceMinor)
	w.request.Others++
}

func (w *writer) finish(r *Request) {
	*r = w.request
	r.Body = w.events.Body()
}
