package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// The goals of one node, in writes a second.
const (
	bidsGoal     = 2_000
	productsGoal = 20_000
	perPut       = 500
)

// writes measures how many changes of bids and products a second one node makes through HTTP: each bid in a request of its own, as bidding
// software changes them, and products in bodies of 500, as a catalog is sent. A write is answered after its commit and fsync.
func writes(ctx context.Context, c *config, f *driver.Fleet, out io.Writer) error {
	a := newAPI(f.Nodes[0].Manage, f.ManagementKey, c.workers)
	var campaigns []string
	var bids [][]string
	for i := range 8 { // Eight vendors, so that their campaigns are in different groups.
		campaign, of, err := a.shop(ctx, fmt.Sprintf("vendor-%d", i), productsOf(i, perPut), 50)
		if err != nil {
			return err
		}
		campaigns, bids = append(campaigns, campaign), append(bids, of)
	}
	fmt.Fprintf(out, "%d workers, %v each, load average %s before\n", c.workers, c.duration, load())
	patch := func(ctx context.Context, n int64) error {
		shop := int(n) % len(campaigns)
		bid := bids[shop][int(n)/len(campaigns)%len(bids[shop])]
		body := fmt.Appendf(nil, `{"amount":%d}`, 10+n%90)
		return a.call(ctx, "PATCH", "/public/v1/campaign-service/campaigns/"+campaigns[shop]+"/bids/"+bid, body, nil)
	}
	if err := measure(ctx, c, f, out, "PATCH of one bid, bids/s", 1, bidsGoal, patch); err != nil {
		return err
	}
	put := func(ctx context.Context, n int64) error {
		// Every third round of a worker's products is new to the node, the others replace.
		ids := productsOf(100+int(n)%300, perPut)
		return a.call(ctx, "PUT", "/public/v1/catalog-search-service/catalogs/products", productsBody("vendor-0", ids, int(n)), nil)
	}
	return measure(ctx, c, f, out, "PUT of 500 products, products/s", perPut, productsGoal, put)
}

// productsOf returns the product ids of a block.
func productsOf(block, count int) []string {
	ids := make([]string, count)
	for i := range ids {
		ids[i] = fmt.Sprintf("product-%04d-%03d", block, i)
	}
	return ids
}

// measure sends one kind of write in a closed loop and prints the rate, the latencies and the CPU time that one write cost the node.
func measure(ctx context.Context, c *config, f *driver.Fleet, out io.Writer, name string, each int, goal float64, send func(context.Context, int64) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	histograms := make([]driver.Histogram, c.workers)
	var group sync.WaitGroup
	before, _ := driver.ProcessCPU(f.Nodes[0].Pid) // 0 where the system has no /proc.
	start := time.Now()
	for w := range c.workers {
		group.Go(func() {
			for ctx.Err() == nil && time.Since(start) < c.duration {
				began := time.Now()
				if err := send(ctx, next.Add(1)-1); err != nil {
					cancel(err)
					return
				}
				histograms[w].Record(time.Since(began))
			}
		})
	}
	group.Wait()
	after, _ := driver.ProcessCPU(f.Nodes[0].Pid) // As before.
	took, cpu := time.Since(start), after-before
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var all driver.Histogram
	for w := range histograms {
		all.Merge(&histograms[w])
	}
	count := float64(all.Count()) * float64(each)
	result := "holds"
	if count/took.Seconds() < goal {
		result = "missed"
	}
	_, err := fmt.Fprintf(out, "%-32s %8.0f (goal %.0f: %s)   p50 %v p99 %v max %v   %.1f us of the node's CPU a write, %.0f %% of a core   load average %s\n",
		name, count/took.Seconds(), goal, result, all.Quantile(0.5), all.Quantile(0.99), all.Max(),
		cpu.Seconds()*1e6/count, 100*cpu.Seconds()/took.Seconds(), load())
	return err
}
