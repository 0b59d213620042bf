package scenarios

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/gavel-ads/gavel/bench/traffic"
)

const (
	// bodiesMax is how many different bodies are prepared. With a few dozen, the server's data would stay in the processor's caches,
	// and the server would look faster than it is.
	bodiesMax = 4_096
	// bodiesBytesMax bounds the bytes of all bodies; there are fewer bodies when they are long.
	bodiesBytesMax = 64 << 20
)

// bodies is a set of prepared auction bodies that all workers use in turn.
type bodies struct {
	all  [][]byte
	next atomic.Uint64
}

func prepareBodies(env *Env) (*bodies, error) {
	if len(env.Products) == 0 {
		return nil, errors.New("a market without products has no auctions")
	}
	b := &bodies{}
	gen := traffic.NewAuctions(env.Products, env.Seed, 1)
	for total := 0; len(b.all) < bodiesMax && total < bodiesBytesMax; {
		body := gen.Append(nil, env.Auctions, env.IDs, env.Slots)
		b.all = append(b.all, body)
		total += len(body)
	}
	return b, nil
}

func (b *bodies) take() []byte { return b.all[b.next.Add(1)%uint64(len(b.all))] }

// auctions sends listing auctions only: N auctions of M product ids a request.
type auctions struct{ bodies *bodies }

func (s *auctions) Prepare(_ context.Context, env *Env) (err error) {
	s.bodies, err = prepareBodies(env)
	return err
}

func (s *auctions) Worker(int) Worker { return auctionsWorker{s.bodies} }

type auctionsWorker struct{ bodies *bodies }

func (w auctionsWorker) Next(r *Request) bool {
	*r = Request{Path: AuctionsPath, Body: w.bodies.take()}
	return true
}

func (auctionsWorker) Answer(*Request, []byte) {}
