package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

const (
	spendingProducts = 40               // Of a campaign; each has a bid.
	spendingClicks   = 150              // What a budget pays at the campaign's mean bid: a third of what most could sell.
	fillTime         = 20 * time.Second // BOUND: how long it may take to create the market, before the campaigns begin.
	lateClicks       = 5 * time.Second  // After the end, until the clicks of the last auctions are billed.
	spendingSamples  = 240              // Of a run.
)

// spending shows how three nodes spend budgets: campaigns with a total budget each, to be spread evenly until a common end, and the
// traffic of a shop's day pressed into that time. It reads what was billed of each budget while it runs, draws it, and fails if anything
// was billed above a budget.
func spending(ctx context.Context, c *config, f *driver.Fleet, out io.Writer) error {
	plan, err := driver.ParsePlan(c.rate, c.duration)
	if err != nil || !plan.Open() {
		return errors.Join(err, errors.New("--rate has to be above 0"))
	}
	market := spendingMarket(c.campaigns, c.seed)
	begin := time.Now().Add(fillTime).Truncate(time.Second)
	terms := shop.Terms{DepositMinor: 1_000_000_000, Begin: begin, Until: begin.Add(c.duration)}
	client := shop.New(f.Nodes[0].Manage, f.ManagementKey)
	campaigns, err := client.Fill(ctx, market, terms, "spending")
	if err != nil {
		return err
	}
	if time.Now().After(begin) {
		return fmt.Errorf("the market took longer than %v to create", fillTime)
	}
	fmt.Fprintf(out, "%d campaigns, %s requests a second for %v, load average %s before\n", len(campaigns), c.rate, c.duration, load())
	watched := newSpent(campaigns, begin, c.duration)
	sending, stop := context.WithCancel(ctx)
	sent := make(chan error, 1)
	go func() { sent <- sendAsAShop(sending, c, f, plan, begin, productIDs(market)) }()
	err = watched.watch(ctx, client, sent)
	stop()
	if err != nil {
		return err
	}
	if err := watched.draw(c.plot); err != nil {
		return err
	}
	return watched.print(out)
}

// spendingMarket is a market in which a vendor has one campaign, whose bids nobody else makes, but all campaigns compete for the same pages.
func spendingMarket(campaigns int, seed uint64) *traffic.Market {
	m := traffic.NewMarket(traffic.MarketSpec{
		Products: campaigns * spendingProducts, Vendors: campaigns, Campaigns: campaigns, BidsPerCampaign: spendingProducts,
	}, seed)
	for i := range m.Campaigns {
		sum := int64(0)
		for _, b := range m.Campaigns[i].Bids {
			sum += b.AmountMinor
		}
		m.Campaigns[i].BudgetMinor = max(1, sum*spendingClicks/int64(len(m.Campaigns[i].Bids)))
	}
	return m
}

func productIDs(m *traffic.Market) (all []string) {
	for _, p := range m.Products {
		all = append(all, p.ID)
	}
	return all
}

// spent is what was billed of the budgets of campaigns, over the time that these are for.
type spent struct {
	names    []string
	index    map[string]int // By the id of the campaign.
	begin    time.Time
	duration time.Duration

	at     []float64   // The times of the samples, 0 at the beginning and 1 at the end.
	shares [][]float64 // Of each campaign, what was billed of its budget at these times; 1 is all.
	states []string    // Of each campaign, what pacing said of it in the middle of the time.
}

func newSpent(campaigns []shop.Campaign, begin time.Time, duration time.Duration) *spent {
	s := &spent{begin: begin, duration: duration, index: map[string]int{}}
	for i := range campaigns {
		s.index[campaigns[i].ID] = i
		s.names = append(s.names, campaigns[i].Name)
	}
	s.shares, s.states = make([][]float64, len(campaigns)), make([]string, len(campaigns))
	return s
}

// watch reads the campaigns until the last clicks are billed. It ends early with the error of what is sent beside it.
func (s *spent) watch(ctx context.Context, client *shop.Client, sent <-chan error) error {
	for i := 0; ; i++ {
		due := s.begin.Add(s.duration * time.Duration(i) / spendingSamples)
		if i > spendingSamples {
			due = s.begin.Add(s.duration + lateClicks)
		}
		for wait := time.After(time.Until(due)); wait != nil; {
			select {
			case err := <-sent:
				if err != nil {
					return err
				}
				sent = nil // All is sent.
			case <-wait:
				wait = nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		at := float64(i) / spendingSamples
		if i > spendingSamples {
			at = 1
		}
		if err := s.sample(ctx, client, at); err != nil || i > spendingSamples {
			return err
		}
	}
}

// sample reads all campaigns once.
func (s *spent) sample(ctx context.Context, client *shop.Client, at float64) error {
	campaigns, err := client.Campaigns(ctx)
	if err != nil {
		return err
	}
	for i := range campaigns {
		c := &campaigns[i]
		k, known := s.index[c.ID]
		if !known || c.Budget == nil {
			return fmt.Errorf("campaign %s with budget %v is none of the market", c.ID, c.Budget)
		}
		s.shares[k] = append(s.shares[k], float64(c.Budget.AmountUsed)/float64(c.Budget.Amount))
		if c.PacingState != nil && at <= 0.5 {
			s.states[k] = c.PacingState.Status
		}
	}
	s.at = append(s.at, at)
	return nil
}

// distance is the largest distance of a campaign from the even plan, as a share of its budget.
func (s *spent) distance(campaign int) (most float64) {
	for i, share := range s.shares[campaign] {
		most = max(most, math.Abs(share-s.at[i]))
	}
	return most
}

// print prints how well the budgets were spent. Its error says that something was billed above a budget, or nothing was billed.
func (s *spent) print(out io.Writer) error {
	var distances, used []float64
	states := map[string]int{}
	var fault error
	for k, shares := range s.shares {
		end := shares[len(shares)-1]
		if end > 1 || end == 0 {
			fault = errors.Join(fault, fmt.Errorf("%s was billed %.4f of its budget", s.names[k], end))
		}
		distances, used = append(distances, s.distance(k)), append(used, end)
		states[s.states[k]]++
	}
	_, err := fmt.Fprintf(out, "billed of the budgets: %s\nlargest distance from the plan: %s\nstates in the middle: %v; load average %s after\n",
		spread(used, "%.3f"), spread(distances, "%.3f"), states, load())
	return errors.Join(err, fault)
}

// draw writes the chart into a file, unless it has no name.
func (s *spent) draw(file string) error {
	if file == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	w, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(s.chart().Write(w), w.Close())
}
