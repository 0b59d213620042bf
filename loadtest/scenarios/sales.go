package scenarios

import (
	"context"
	"math/rand/v2"

	"github.com/gavel-ads/gavel/bench/traffic"
)

// sales measures charged events whose users buy: bodies of clicks as those of clicks, each on its own token, and in a twentieth of all
// events a purchase of what its user clicked in the body before.
type sales struct {
	env    *Env
	tokens *Tokens
}

const (
	clicksOfUser  = 4    // A user of the scenario clicks so often. It keeps the touches of a user few, as a shop's are.
	buyShare      = 0.05 // Of all events.
	purchaseMinor = 2_500
)

func (s *sales) Prepare(ctx context.Context, env *Env) (err error) {
	s.env = env
	s.tokens, err = fetchTokens(ctx, env, env.Tokens)
	return err
}

func (s *sales) Worker(i int) Worker {
	w := &salesWorker{tokens: s.tokens, perBody: s.env.Events, writer: newWriter(s.env, i), r: traffic.New(s.env.Seed, 40_000+uint64(i))}
	w.writer.perUser = clicksOfUser
	return w
}

type salesWorker struct {
	tokens  *Tokens
	perBody int
	writer  *writer
	r       *rand.Rand
	// What the next body buys: products, and the users who have clicked them.
	products, buyers texts
}

func (w *salesWorker) Next(r *Request) bool {
	clicks := max(1, w.perBody-w.buyers.len())
	first, ok := w.tokens.Take(clicks)
	if !ok {
		return false
	}
	w.writer.begin()
	for i := range w.buyers.len() {
		w.writer.buy(w.buyers.at(i), w.products.at(i))
	}
	w.buyers.reset()
	w.products.reset()
	for i := range clicks {
		w.writer.click(w.tokens.At(first + i))
		if w.buyers.len() < w.perBody-1 && w.r.Float64() < buyShare/(1-buyShare) {
			w.buyers.add(w.writer.event.User)
			w.products.add(w.tokens.ProductAt(first + i))
		}
	}
	w.writer.finish(r)
	return true
}

func (*salesWorker) Answer(*Request, []byte) {}

// buy adds the purchase of one piece of a product, with a new id, by a user of earlier events.
func (w *writer) buy(user, product []byte) {
	event := *w.next(nil)
	event.User = user
	w.events.Purchase(&event, string(product), 1, purchaseMinor)
	w.request.Others++
}
