package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// Finish resolves what is unknown, reads the final state, and sends every acknowledged body again. Its error means that the cluster did
// not answer as it should, or that the context ended. REQUIRES: Run has returned and all nodes are ready.
func (c *Clients) Finish(ctx context.Context) (*check.FinalState, error) {
	c.resolve(ctx)
	if err := c.awaitCredits(ctx); err != nil {
		return nil, err
	}
	c.reverseLast(ctx)
	final := &check.FinalState{
		Reports: map[*history.Campaign]history.ReportRead{}, Budgets: map[*history.Campaign]history.BudgetRead{},
		Balances: map[*history.Vendor]shop.Micros{},
	}
	if err := c.readFinalState(ctx, final); err != nil {
		return nil, err
	}
	if err := c.probeUsedUp(ctx); err != nil {
		return nil, err
	}
	// This comes last, because sending a lost event again would repair the reports.
	return final, c.resend(ctx, final)
}

// retryUntilDone calls a function until it succeeds, is refused, or a minute has passed. All nodes are ready, so they should answer.
func retryUntilDone(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := do()
		if err == nil || errors.Is(err, errRefused) {
			return err
		}
		if !pause(ctx, 100*time.Millisecond) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// readFinalState reads all reports, the budget of each campaign, and the balance of each vendor, from all nodes in turn.
func (c *Clients) readFinalState(ctx context.Context, final *check.FinalState) error {
	accepted := time.Now()
	for i, campaign := range c.h.Campaigns() {
		node := i % len(c.o.Nodes)
		err := retryUntilDone(ctx, func() error {
			r, err := c.readReport(node, campaign)
			if err == nil && r.through.Before(accepted) {
				err = fmt.Errorf("the report of %s is complete through %v only, want %v", campaign.Name, r.through, accepted)
			}
			final.Reports[campaign] = r.ReportRead
			return err
		})
		if err == nil {
			err = retryUntilDone(ctx, func() error {
				r, err := c.readBudget(node, campaign)
				final.Budgets[campaign] = r
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	for i, v := range c.h.Vendors {
		err := retryUntilDone(ctx, func() error {
			r, err := c.readWallet(i%len(c.o.Nodes), v)
			final.Balances[v] = r.Balance
			return err
		})
		if err != nil {
			return err
		}
	}
	var err error
	final.Other, err = c.readOtherReports(ctx, accepted)
	return err
}

// usedUpWait is the time from a budget that is used up to the auctions that the campaign must not win: more than the age of
// the oldest replica that a node may use, and than what measuring it adds.
const usedUpWait = 5 * time.Second

// probeUsedUp takes the money of some campaigns away, and records what they win on every node when all must know it. During
// the run a budget is used up for moments only, because it is raised again and again.
func (c *Clients) probeUsedUp(ctx context.Context) error {
	for i, campaign := range c.market.lowBudget {
		err := retryUntilDone(ctx, func() error {
			const least = 1 // In minor units: a campaign that was charged once has nothing left.
			got := c.setBudget(i%len(c.o.Nodes), campaign, least)
			if got.outcome() != history.OK {
				return fmt.Errorf("a budget of %d for %s: %v", least, campaign.Name, got)
			}
			r, err := c.readBudget(i%len(c.o.Nodes), campaign)
			if err == nil {
				c.h.With(func(h *history.History) { h.Budgets = append(h.Budgets, r) })
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if !pause(ctx, usedUpWait) {
		return ctx.Err()
	}
	for node := range c.o.Nodes {
		err := retryUntilDone(ctx, func() error {
			invoke := c.h.Now()
			winners, got := c.auction(c.http, node, auctionBody(c.market.products))
			if got.status != http.StatusCreated {
				return fmt.Errorf("an auction on node %d: %v", node+1, got)
			}
			finish := c.h.Now()
			c.h.With(func(h *history.History) {
				for _, w := range winners {
					h.Probed = append(h.Probed, &history.Token{Text: w.ResolvedBidID, Campaign: c.market.byID[w.CampaignID], Invoke: invoke, Return: finish})
				}
			})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// resend sends every acknowledged body once more and asks for details: the node has to know each event already.
func (c *Clients) resend(ctx context.Context, final *check.FinalState) error {
	next := make(chan *history.Body)
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for i := range retriers {
		group.Go(func() {
			for b := range next {
				var lost []string
				err := retryUntilDone(ctx, func() (err error) {
					lost, err = c.unknownTo((i+b.Number)%len(c.o.Nodes), b)
					return err
				})
				mu.Lock()
				final.Resent += len(b.Events)
				final.Lost = append(final.Lost, lost...)
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	for _, b := range c.h.Bodies {
		if b.Acked != history.Never && ctx.Err() == nil {
			next <- b
		}
	}
	close(next)
	group.Wait()
	return failed
}

// unknownTo returns the events of an acknowledged body that a node does not know.
func (c *Clients) unknownTo(node int, b *history.Body) ([]string, error) {
	got := c.auctionCall(c.http, node, "/v2/events?detail=true", text(b))
	if got.status != http.StatusOK {
		err := fmt.Errorf("sending body %d again: %v", b.Number, got)
		if got.outcome() == history.Refused {
			err = fmt.Errorf("%w: %w", errRefused, err)
		}
		return nil, err
	}
	var details map[string][]struct{ ID, Status string }
	if err := json.Unmarshal(got.body, &details); err != nil {
		return nil, fmt.Errorf("%w in %.300s", err, got.body)
	}
	var lost []string
	var sent [history.Arrays]int
	for _, e := range b.Events {
		list, i := details[history.Names[e.Array]], sent[e.Array]
		sent[e.Array]++
		switch {
		case i >= len(list) || list[i].ID != e.ID:
			return nil, fmt.Errorf("no detail of %s[%d] %s in %.300s", history.Names[e.Array], i, e.ID, got.body)
		case list[i].Status != "duplicate":
			lost = append(lost, fmt.Sprintf("%s %s of body %d, acknowledged at %v: %q when it was sent again", history.Names[e.Array], e.ID, b.Number, b.Acked, list[i].Status))
		}
	}
	return lost, nil
}
