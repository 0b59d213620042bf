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

// Settle resolves what is unknown and reads the books. Its error means that a whole cluster did not answer what it should,
// or that the context ended. REQUIRES: Run has returned and the cluster is whole.
func (c *Clients) Settle(ctx context.Context) (*check.Books, error) {
	c.resolve(ctx)
	books := &check.Books{
		Reports: map[*history.Campaign]history.ReportRead{}, Budgets: map[*history.Campaign]history.BudgetRead{},
		Balances: map[*history.Vendor]shop.Micros{},
	}
	if err := c.readBooks(ctx, books); err != nil {
		return nil, err
	}
	// Only now: reporting a lost event again repairs the books.
	return books, c.resend(ctx, books)
}

// again calls a function until it succeeds, is refused, or a minute has passed: the cluster is whole, so it answers.
func again(ctx context.Context, do func() error) error {
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

func (c *Clients) readBooks(ctx context.Context, books *check.Books) error {
	accepted := time.Now()
	for i, campaign := range c.h.Campaigns() {
		node := i % len(c.o.Nodes)
		err := again(ctx, func() error {
			r, err := c.readReport(node, campaign)
			if err == nil && r.through.Before(accepted) {
				err = fmt.Errorf("the report of %s is complete through %v only, want %v", campaign.Name, r.through, accepted)
			}
			books.Reports[campaign] = r.ReportRead
			return err
		})
		if err == nil {
			err = again(ctx, func() error {
				r, err := c.readBudget(node, campaign)
				books.Budgets[campaign] = r
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	for i, v := range c.h.Vendors {
		err := again(ctx, func() error {
			r, err := c.readWallet(i%len(c.o.Nodes), v)
			books.Balances[v] = r.Balance
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// resend reports every acknowledged body once more and asks for details: each event has to be known already.
func (c *Clients) resend(ctx context.Context, books *check.Books) error {
	next := make(chan *history.Body)
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for i := range retriers {
		group.Go(func() {
			for b := range next {
				var lost []string
				err := again(ctx, func() (err error) {
					lost, err = c.unknownTo((i+b.Number)%len(c.o.Nodes), b)
					return err
				})
				mu.Lock()
				books.Resent += len(b.Events)
				books.Lost = append(books.Lost, lost...)
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
		err := fmt.Errorf("reporting body %d again: %v", b.Number, got)
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
			lost = append(lost, fmt.Sprintf("%s %s of body %d, acknowledged at %v: %q when it was reported again", history.Names[e.Array], e.ID, b.Number, b.Acked, list[i].Status))
		}
	}
	return lost, nil
}
