package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// sendAsAShop sends what the back end of a storefront does, by a plan that begins at an instant, until the plan or the context ends. Every
// connection goes to the next node. Its error is the first request that was not answered as it should be.
func sendAsAShop(ctx context.Context, c *config, f *driver.Fleet, plan driver.Plan, begin time.Time, products []string) error {
	scenario, err := scenarios.New("mixed")
	if err != nil {
		return err
	}
	env := &scenarios.Env{
		Seed: c.seed, Run: "spending", Products: products, Auctions: 1, IDs: 10, Slots: 4, Events: 50, Now: time.Now,
	}
	if err := scenario.Prepare(ctx, env); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for i := range c.workers {
		conn, err := driver.NewConn(f.Nodes[i%len(f.Nodes)].Auction, f.AuctionKey, visibleMax)
		if err != nil {
			cancel(err)
			break
		}
		workers.Go(func() {
			defer conn.Close()
			w := scenario.Worker(i)
			for ctx.Err() == nil {
				due, more := plan.Due(next.Add(1) - 1)
				if !more {
					return
				}
				time.Sleep(time.Until(begin.Add(due)))
				if err := sendNext(w, conn); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// sendNext sends the next request of a worker.
func sendNext(w scenarios.Worker, conn *driver.Conn) error {
	var r scenarios.Request
	w.Next(&r)
	status, answer, err := conn.Post(r.Path, r.Body)
	if err != nil || status/100 != 2 {
		return fmt.Errorf("%s was answered %d %.200s: %w", r.Path, status, answer, err)
	}
	w.Answer(&r, answer)
	return nil
}
