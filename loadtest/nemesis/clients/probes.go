package clients

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

const (
	auctionEvery = 150 * time.Millisecond
	writeEvery   = 100 * time.Millisecond
	// writeMax is when a write probe gives up, writesMax how many may be under way. BOUND: of goroutines in an outage.
	writeMax  = 2 * time.Minute
	writesMax = 300
)

// watchAuctions asks one node for auctions over all products, whatever its state is.
func (c *Clients) watchAuctions(ctx context.Context, node int) {
	body := auctionBody(c.market.products)
	for pause(ctx, auctionEvery) {
		a := history.Auction{Node: node, Invoke: c.h.Now()}
		winners, got := c.auction(c.http, node, body)
		a.Return, a.Status, a.Winners = c.h.Now(), got.status, len(winners)
		c.h.With(func(h *history.History) { h.Auctions = append(h.Auctions, a) })
	}
}

// probeWrites begins a small write every moment, whether or not the earlier ones have come through, so that an outage is
// seen from its beginning and on every group: a page view goes to the group that its id names.
func (c *Clients) probeWrites(ctx context.Context) {
	var group sync.WaitGroup
	var under atomic.Int64
	for i := 0; pause(ctx, writeEvery); i++ {
		if under.Load() >= writesMax {
			continue
		}
		under.Add(1)
		group.Go(func() {
			c.write(ctx, i)
			under.Add(-1)
		})
	}
	group.Wait()
}

func (c *Clients) write(ctx context.Context, i int) {
	b := &history.Body{
		Number: int(c.bodies.Add(1)), Acked: history.Never, Sent: c.h.Now(),
		Events: []*history.Event{{Array: history.PageView, ID: fmt.Sprintf("probe-%d", i), Occurred: now()}},
	}
	c.h.With(func(h *history.History) { h.Bodies = append(h.Bodies, b) })
	w := history.Write{Invoke: b.Sent, Return: history.Never}
	d := &doubt{b, text(b)}
	node := i % len(c.o.Nodes)
	for deadline := time.Now().Add(writeMax); time.Now().Before(deadline); node = (node + 1) % len(c.o.Nodes) {
		if !c.o.Ready(node) && c.anyReady() {
			continue
		}
		w.Attempts++
		if c.try(c.quick, d, node) {
			w.Return = c.h.Now()
			break
		}
		if !pause(ctx, 50*time.Millisecond) {
			break
		}
	}
	if w.Return == history.Never {
		w.GivenUp = c.h.Now()
		c.leave(d)
	}
	if w.Return != history.Never || ctx.Err() == nil { // One that the end of the run cut off tells nothing.
		c.h.With(func(h *history.History) { h.Writes = append(h.Writes, w) })
	}
}

func (c *Clients) anyReady() bool {
	for node := range c.o.Nodes {
		if c.o.Ready(node) {
			return true
		}
	}
	return false
}
