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
	// writeMax is when a write probe gives up, writesMax how many are under way at most. BOUND: goroutines during an outage.
	writeMax  = 2 * time.Minute
	writesMax = 300
)

// watchAuctions runs an auction over all products on one node every auctionEvery, whether or not the node is ready.
func (c *Clients) watchAuctions(ctx context.Context, node int) {
	body := auctionBody(c.market.products)
	for pause(ctx, auctionEvery) {
		a := history.Auction{Node: node, Invoke: c.h.Now()}
		winners, got := c.auction(c.http, node, body)
		a.Return, a.Status, a.Winners = c.h.Now(), got.status, len(winners)
		c.h.With(func(h *history.History) { h.Auctions = append(h.Auctions, a) })
	}
}

// probeWrites begins a small write every writeEvery, whether or not the earlier ones are done, so that an outage is seen from its beginning
// and in every group: a page view goes to the group that its id names.
func (c *Clients) probeWrites(ctx context.Context) {
	var group sync.WaitGroup
	var inFlight atomic.Int64
	for i := 0; pause(ctx, writeEvery); i++ {
		if inFlight.Load() >= writesMax {
			continue
		}
		inFlight.Add(1)
		group.Go(func() {
			c.write(ctx, i)
			inFlight.Add(-1)
		})
	}
	group.Wait()
}

// write makes one small write: it tries one ready node after the other until the write is acknowledged or writeMax has passed.
func (c *Clients) write(ctx context.Context, i int) {
	b := &history.Body{
		Number: int(c.bodies.Add(1)), Acked: history.Never, Sent: c.h.Now(),
		Events: []*history.Event{{Array: history.PageView, ID: fmt.Sprintf("probe-%d", i), Occurred: now()}},
	}
	c.h.With(func(h *history.History) { h.Bodies = append(h.Bodies, b) })
	w := history.Write{Invoke: b.Sent, Return: history.Never}
	d := &unresolvedBody{b, text(b)}
	node := i % len(c.o.Nodes)
	for deadline := time.Now().Add(writeMax); time.Now().Before(deadline); node = (node + 1) % len(c.o.Nodes) {
		if !c.o.Ready(node) && c.anyReady() {
			continue
		}
		w.Attempts++
		if c.try(c.probeHTTP, d, node) {
			w.Return = c.h.Now()
			break
		}
		if !pause(ctx, 50*time.Millisecond) {
			break
		}
	}
	if w.Return == history.Never {
		w.GivenUp = c.h.Now()
		c.enqueueRetry(d)
	}
	if w.Return != history.Never || ctx.Err() == nil { // A write that the end of the run interrupted is not recorded.
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
