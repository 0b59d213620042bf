package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// changers is the number of changes under way at once. An operator's tools hold few connections.
const changers = 8

// changer lowers the budgets of campaigns beside the scenario, each by a minor unit or more; they begin at the highest that
// is allowed. A change is answered when it is committed, so it shows what management costs auctions and events, and the
// other way round.
type changer struct {
	operator  *shop.Client
	plan      driver.Plan
	campaigns []shop.Campaign
	to        *timeline
	failed    error // The first change that did not succeed; there are no more after it.

	next atomic.Int64
}

// run sends changes until the workers or the plan end.
func (c *changer) run(ctx context.Context, start time.Time) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	var failed [changers]error
	for i := range changers {
		group.Go(func() {
			if failed[i] = c.work(ctx, start); failed[i] != nil {
				stop()
			}
		})
	}
	group.Wait()
	c.failed = errors.Join(failed[:]...)
}

func (c *changer) work(ctx context.Context, start time.Time) error {
	recorded := &recorder{to: c.to}
	defer recorded.flush()
	for {
		i := c.next.Add(1) - 1
		due, ok := c.plan.Due(i)
		if !ok {
			return nil
		}
		select {
		case <-time.After(time.Until(start.Add(due))):
		case <-ctx.Done():
			return nil
		}
		// A change that was sent is waited for, also when the workers have ended: it belongs to the run.
		if err := c.change(context.WithoutCancel(ctx), i); err != nil {
			return err
		}
		recorded.record(kindManagement, due, time.Since(start)-due)
	}
}

// change makes change i.
func (c *changer) change(ctx context.Context, i int64) error {
	if len(c.campaigns) == 0 {
		return errors.New("the marketplace has no campaign")
	}
	campaign := &c.campaigns[i%int64(len(c.campaigns))]
	if campaign.Budget == nil {
		return fmt.Errorf("campaign %s has no budget", campaign.ID)
	}
	lowered := campaign.Budget.Amount - 1 - i/int64(len(c.campaigns))
	if lowered < 1 {
		return fmt.Errorf("campaign %s had a budget of %d minor units, which is used up by changes", campaign.ID, campaign.Budget.Amount)
	}
	return c.operator.SetBudget(ctx, campaign.ID, lowered)
}
