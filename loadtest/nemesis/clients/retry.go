package clients

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

const (
	retriers = 12
	// unresolvedMax is how many bodies of storefronts may be of unknown outcome; storefronts wait from half of it on. BOUND: memory, and
	// the burst of repeats that a cluster gets when it recovers.
	unresolvedMax = 400
)

// unresolvedBody is a body whose outcome is not known yet, with its JSON.
type unresolvedBody struct {
	body *history.Body
	text []byte
}

// send sends a body once, sometimes to two nodes at the same moment. A body of unknown outcome goes to the retriers. It waits while too
// many bodies are of unknown outcome.
func (s *storefront) send(b *history.Body) {
	d := &unresolvedBody{b, text(b)}
	b.Sent = s.h.Now()
	s.h.With(func(h *history.History) { h.Bodies = append(h.Bodies, b) })
	var done bool
	if s.r.IntN(10) == 0 && len(s.o.Nodes) > 1 {
		first, second := s.pick(s.r), s.r.IntN(len(s.o.Nodes))
		var other bool
		var group sync.WaitGroup
		group.Go(func() { other = s.try(s.http, d, second) })
		done = s.try(s.http, d, first)
		group.Wait()
		done = done || other
	} else {
		done = s.try(s.http, d, s.pick(s.r))
	}
	if !done {
		s.enqueueRetry(d)
	}
	for s.pending.Load() > unresolvedMax/2 {
		time.Sleep(50 * time.Millisecond)
	}
}

// enqueueRetry hands a body to the retriers. The channel has room: storefronts wait from unresolvedMax/2 on, and there are at most
// writesMax write probes.
func (c *Clients) enqueueRetry(d *unresolvedBody) {
	c.pending.Add(1)
	c.unresolved <- d
}

// try sends a body to one node, records the outcome, and reports whether it is known.
func (c *Clients) try(with *http.Client, d *unresolvedBody, node int) (done bool) {
	got := c.auctionCall(with, node, "/v2/events", d.text)
	finish := c.h.Now()
	outcome := got.outcome()
	c.h.With(func(*history.History) {
		d.body.Attempts++
		switch outcome {
		case history.OK:
			d.body.Acked = min(d.body.Acked, finish)
		case history.Unknown:
			d.body.Unknown++
		case history.Refused:
		}
	})
	if outcome == history.Refused {
		c.h.Finding(fmt.Sprintf("node %d refused a well-formed body: %v\n%.500s", node+1, got, d.text))
	}
	return outcome != history.Unknown
}

// retry repeats bodies of unknown outcome on any node, byte for byte, until the context ends.
func (c *Clients) retry(ctx context.Context, r *rand.Rand) {
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-c.unresolved:
			done := c.try(c.http, d, c.pick(r))
			if !done {
				pause(ctx, time.Duration(50+r.IntN(200))*time.Millisecond)
				c.unresolved <- d // It has a free place, because pending still counts this body.
				continue
			}
			c.pending.Add(-1)
		}
	}
}

// resolve repeats bodies of unknown outcome until all outcomes are known or the context ends. REQUIRES: the storefronts have stopped.
func (c *Clients) resolve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for i := range retriers {
		group.Go(func() { c.retry(ctx, c.random(4_000+uint64(i))) })
	}
	for waiting := true; waiting && c.pending.Load() > 0; {
		waiting = pause(ctx, 20*time.Millisecond)
	}
	cancel()
	group.Wait()
}
