package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

const (
	readers      = 2
	readEvery    = 150 * time.Millisecond
	changeEvery  = 800 * time.Millisecond
	paymentEvery = 1500 * time.Millisecond
)

// read reads a random budget, report or wallet on any node, again and again, and records it. A failed read is not recorded.
func (c *Clients) read(ctx context.Context, r *rand.Rand) {
	all := c.h.Campaigns()
	for pause(ctx, readEvery) {
		campaign, node := all[r.IntN(len(all))], c.pick(r)
		switch r.IntN(4) {
		case 0:
			if got, err := c.readReport(node, campaign); err == nil {
				c.h.With(func(h *history.History) { h.Reports = append(h.Reports, got.ReportRead) })
			}
		case 1:
			if got, err := c.readWallet(node, campaign.Vendor); err == nil {
				c.h.With(func(h *history.History) { h.Wallets = append(h.Wallets, got) })
			}
		default:
			if got, err := c.readBudget(node, campaign); err == nil {
				c.h.With(func(h *history.History) { h.Budgets = append(h.Budgets, got) })
			}
		}
	}
}

// errRefused is a 4xx answer, which repeating the request does not change.
var errRefused = errors.New("refused")

// get reads a resource of the management API. A refusal is a finding, and its error is errRefused.
func (c *Clients) get(node int, path string, out any) error {
	got := c.manage(node, http.MethodGet, path, "", nil)
	if got.status != http.StatusOK {
		if got.outcome() == history.Refused {
			c.h.Finding(fmt.Sprintf("node %d refused GET %s: %v", node+1, path, got))
			return fmt.Errorf("%w: GET %s: %v", errRefused, path, got)
		}
		return fmt.Errorf("GET %s: %v", path, got)
	}
	return json.Unmarshal(got.body, out)
}

func (c *Clients) readBudget(node int, campaign *history.Campaign) (history.BudgetRead, error) {
	r := history.BudgetRead{Campaign: campaign, Node: node, Invoke: c.h.Now()}
	var got struct {
		Budget struct{ Amount, AmountUsed, AmountRemaining int64 }
	}
	err := c.get(node, "/campaign-service/campaigns/"+campaign.ID, &got)
	r.Return = c.h.Now()
	r.Amount, r.Used, r.Remaining = minor(got.Budget.Amount), minor(got.Budget.AmountUsed), minor(got.Budget.AmountRemaining)
	return r, err
}

func (c *Clients) readWallet(node int, vendor *history.Vendor) (history.WalletRead, error) {
	r := history.WalletRead{Vendor: vendor, Node: node, Invoke: c.h.Now()}
	var got struct{ Balance json.Number }
	if err := c.get(node, "/billing-service/vendors/"+vendor.ID+"/balance", &got); err != nil {
		return r, err
	}
	r.Return = c.h.Now()
	var err error
	r.Balance, err = shop.ParseMajor(got.Balance.String())
	return r, err
}

// report is a report and the time up to which it is complete.
type report struct {
	history.ReportRead
	through time.Time
}

func (c *Clients) readReport(node int, campaign *history.Campaign) (r report, err error) {
	r = report{ReportRead: history.ReportRead{Campaign: campaign, Node: node, Invoke: c.h.Now()}}
	r.Numbers, r.through, err = c.readNumbers(node, "/campaigns/"+campaign.ID)
	r.Return = c.h.Now()
	return r, err
}

// changeBudgets raises the budgets that run out, and sometimes sets one below what is spent. An attempt of unknown outcome is not
// repeated: it may take effect at any time, and the next one sets another amount.
func (c *Clients) changeBudgets(ctx context.Context) {
	r := c.random(5_000)
	for pause(ctx, changeEvery) {
		campaign, node := c.market.lowBudget[r.IntN(len(c.market.lowBudget))], c.pick(r)
		seen, err := c.readBudget(node, campaign)
		if err != nil {
			continue
		}
		amount := int64(seen.Used/shop.MinorUnit) + 1 + r.Int64N(30*int64(campaign.Price/shop.MinorUnit))
		if r.IntN(8) == 0 {
			amount = 1 + r.Int64N(amount)
		}
		c.setBudget(node, campaign, amount)
	}
}

// setBudget sets a budget, in minor units, and records the attempt. A refusal is a finding.
func (c *Clients) setBudget(node int, campaign *history.Campaign, amount int64) answer {
	change := history.Change{Campaign: campaign, Amount: minor(amount), Invoke: c.h.Now()}
	got := c.manage(node, http.MethodPatch, "/campaign-service/campaigns/"+campaign.ID, "",
		fmt.Appendf(nil, `{"budget":{"amount":%d,"type":"total"}}`, amount))
	change.Return, change.Outcome = c.h.Now(), got.outcome()
	if change.Outcome == history.Refused {
		c.h.Finding(fmt.Sprintf("node %d refused a budget of %d for %s: %v", node+1, amount, campaign.Name, got))
	}
	c.h.With(func(h *history.History) { h.Changes = append(h.Changes, change) })
	return got
}

// movePayments deposits into the wallet that runs out and burns from it. One payment is under way at a time; all its attempts have one
// idempotency key.
func (c *Clients) movePayments(ctx context.Context) {
	r := c.random(6_000)
	for i := 0; pause(ctx, paymentEvery); i++ {
		amount := int64(100 + r.IntN(3_000))
		if r.IntN(3) == 0 {
			amount = -int64(1 + r.IntN(1_000))
		}
		p := &history.Payment{Vendor: c.market.lowWallet, Amount: minor(amount), Invoke: c.h.Now(), Return: history.Never}
		c.pay(ctx, r, p, fmt.Sprintf("payment-%d", i))
		c.h.With(func(h *history.History) { h.Payments = append(h.Payments, *p) })
	}
}

// pay repeats a payment until its outcome is known, but not longer than a minute after the end of the run.
func (c *Clients) pay(ctx context.Context, r *rand.Rand, p *history.Payment, key string) {
	path, amount := "/billing-service/vendors/"+p.Vendor.ID+"/balance", p.Amount
	if amount < 0 {
		path, amount = path+"/burn", -amount
	}
	body := fmt.Appendf(nil, `{"balance":%s}`, major(amount))
	deciding, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(time.Minute, cancel) })
	defer stop()
	for p.Outcome == history.Unknown {
		p.Attempts++
		got := c.manage(c.pick(r), http.MethodPost, path, key, body)
		p.Outcome = got.outcome()
		switch {
		case p.Outcome == history.Unknown:
			if !pause(deciding, 100*time.Millisecond) {
				return
			}
			continue
		case p.Outcome == history.Refused && p.Amount > 0:
			c.h.Finding("a deposit was refused: " + got.String())
		}
		p.Return = c.h.Now()
		p.Doubtful = p.Outcome == history.Refused && p.Attempts > 1
	}
}
