package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

const (
	visibleGoal = 100 * time.Millisecond // The goal at p99, on every node.
	visibleMax  = 10 * time.Second       // BOUND: a change that is not seen within this time is an error.
	pollEvery   = time.Millisecond       // The time between two auctions of an observer.
)

// visibility measures how long it takes until all nodes of a cluster act on a change: on one of a bid, a campaign, a key, or a session.
func visibility(ctx context.Context, c *config, f *driver.Fleet, out io.Writer) error {
	if err := auctionsShow(ctx, c, f, out); err != nil {
		return err
	}
	return refusals(ctx, c, f, out)
}

// auctionsShow measures how long it takes until auctions on every node of a cluster show a change of a bid, or the pause of a campaign. Two
// products compete for one slot, and each change makes the other one win. An observer at each node runs the same auction again
// and again. A change is seen when the answer with the new winner has arrived, so that the time of the request itself counts too.
func auctionsShow(ctx context.Context, c *config, f *driver.Fleet, out io.Writer) error {
	apis := make([]*api, len(f.Nodes))
	for i, n := range f.Nodes {
		apis[i] = newAPI(n.Manage, f.ManagementKey, 2)
	}
	campaign, bids, err := apis[0].shop(ctx, "vendor-mine", []string{"mine"}, 100)
	if err != nil {
		return err
	}
	if _, _, err := apis[0].shop(ctx, "vendor-other", []string{"other"}, 50); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watchers := make([]*observer, len(f.Nodes))
	for i, n := range f.Nodes {
		w := &observer{saw: make(chan time.Time, 1)}
		w.want.Store(&expectation{winner: "mine"})
		watchers[i] = w
		watching.Go(func() {
			if err := w.watch(ctx, n.Auction, f.AuctionKey); err != nil {
				cancel(err)
			}
		})
	}
	if _, err := seen(ctx, watchers, time.Now()); err != nil { // Now all nodes have the market.
		return err
	}
	path := "/public/v1/campaign-service/campaigns/" + campaign
	turns := []struct {
		name, path, body, winner string
	}{
		{"bid", path + "/bids/" + bids[0], `{"amount":10}`, "other"},
		{"bid", path + "/bids/" + bids[0], `{"amount":100}`, "mine"},
		{"pause", path, `{"isActive":false}`, "other"},
		{"resume", path, `{"isActive":true}`, "mine"},
	}
	fromSent, fromAnswer := map[string]*driver.Histogram{}, map[string]*driver.Histogram{}
	fmt.Fprintf(out, "%d nodes, %d changes, load average %s before\n", len(f.Nodes), c.changes, load())
	for i := range c.changes {
		t := turns[i%len(turns)]
		for _, w := range watchers {
			w.want.Store(&expectation{winner: t.winner})
		}
		sent := time.Now()
		if err := apis[i/len(turns)%len(apis)].call(ctx, "PATCH", t.path, []byte(t.body), nil); err != nil {
			return err
		}
		answered := time.Now()
		last, err := seen(ctx, watchers, sent)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		record(fromSent, t.name, last.Sub(sent))
		record(fromAnswer, t.name, last.Sub(answered))
		time.Sleep(time.Duration(i%25) * time.Millisecond) // Changes are irregular, so that they do not coincide with a period of the node.
	}
	for _, name := range []string{"bid", "pause", "resume"} {
		s, a := fromSent[name], fromAnswer[name]
		result := "holds"
		if s.Quantile(0.99) > visibleGoal {
			result = "missed"
		}
		if _, err := fmt.Fprintf(out, "%-6s %4d changes, until the last node shows it: from sending p50 %v p99 %v max %v (goal p99 %v: %s); from the answer p50 %v p99 %v max %v\n",
			name, s.Count(), s.Quantile(0.5), s.Quantile(0.99), s.Max(), visibleGoal, result, a.Quantile(0.5), a.Quantile(0.99), a.Max()); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "load average %s after\n", load())
	return err
}

func record(all map[string]*driver.Histogram, name string, d time.Duration) {
	if all[name] == nil {
		all[name] = &driver.Histogram{}
	}
	all[name].Record(d)
}

// seen waits until every observer has seen the change that it waits for, and returns when the last one did.
func seen(ctx context.Context, watchers []*observer, since time.Time) (last time.Time, err error) {
	ctx, cancel := context.WithDeadlineCause(ctx, since.Add(visibleMax), fmt.Errorf("not seen on every node within %v", visibleMax))
	defer cancel()
	for _, w := range watchers {
		select {
		case at := <-w.saw:
			if at.After(last) {
				last = at
			}
		case <-ctx.Done():
			return last, context.Cause(ctx)
		}
	}
	return last, nil
}

// expectation is the winner that an observer waits for.
type expectation struct {
	winner string
	done   bool // OWNERSHIP: only the observer reads and writes it.
}

// observer runs the same auction at one node again and again.
type observer struct {
	want atomic.Pointer[expectation]
	saw  chan time.Time // When an expected winner was seen, once for each expectation.
}

func (w *observer) watch(ctx context.Context, url, key string) error {
	c, err := driver.NewConn(url, key, visibleMax)
	if err != nil {
		return err
	}
	defer c.Close()
	body := []byte(`{"auctions":[{"type":"listings","slots":1,"products":{"ids":["mine","other"]}}]}`)
	for ctx.Err() == nil {
		t := w.want.Load()
		status, answer, err := c.Post("/v2/auctions", body)
		if err != nil || status != 201 {
			return fmt.Errorf("an auction was answered %d %.200s: %w", status, answer, err)
		}
		if !t.done && bytes.Contains(answer, []byte(`"id":"`+t.winner+`"`)) {
			t.done = true
			w.saw <- time.Now()
		}
		time.Sleep(pollEvery)
	}
	return nil
}
