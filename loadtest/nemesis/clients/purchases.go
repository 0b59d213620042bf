package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

const (
	reverseEvery = 1500 * time.Millisecond
	// creditMax is how long after the last event the reports may lack attributed sales, by the interface.
	creditMax = time.Minute
	// creditRest is the wait after the reports have all attributed sales, in which an item that is credited twice would be.
	creditRest = 3 * time.Second
)

// purchaseLog is the purchases that storefronts have reported, with the body that reported each first. It grows as the history does.
type purchaseLog struct {
	mu     sync.Mutex
	all    []reported
	logged map[*history.Event]bool
}

type reported struct {
	event *history.Event
	body  *history.Body
}

// add adds the purchases of a body.
func (p *purchaseLog) add(b *history.Body) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range b.Events {
		if e.Array != history.Purchase || e.ReturnOf != nil || p.logged[e] {
			continue
		}
		if p.logged == nil {
			p.logged = map[*history.Event]bool{}
		}
		p.logged[e] = true
		p.all = append(p.all, reported{e, b})
	}
}

// draw returns a random purchase; one without an event when there are none.
func (p *purchaseLog) draw(r *rand.Rand) reported {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == 0 {
		return reported{}
	}
	return p.all[r.IntN(len(p.all))]
}

// acknowledgedPurchase draws a purchase that a node has acknowledged; nil when it finds none.
func (c *Clients) acknowledgedPurchase(r *rand.Rand) *history.Event {
	return c.drawPurchase(r, func(*history.Event) bool { return true })
}

// chargedPurchase draws an acknowledged purchase by a user of a token that is paid by it; nil when it finds none.
func (c *Clients) chargedPurchase(r *rand.Rand) *history.Event {
	return c.drawPurchase(r, (*history.Event).Pays)
}

func (c *Clients) drawPurchase(r *rand.Rand, wanted func(*history.Event) bool) *history.Event {
	for range 50 {
		p := c.bought.draw(r)
		if p.event == nil || !wanted(p.event) {
			continue
		}
		acked := false
		c.h.With(func(*history.History) { acked = p.body.Acked != history.Never })
		if acked {
			return p.event
		}
	}
	return nil
}

// reverse gives charges of purchases back, sometimes one that was given back before.
func (c *Clients) reverse(ctx context.Context) {
	r := c.random(7_000)
	for i := 0; pause(ctx, reverseEvery); i++ {
		if e := c.chargedPurchase(r); e != nil {
			c.reverseCharge(ctx, r, e.Token, fmt.Sprintf("reversal-%d", i))
		}
	}
}

// reverseLast gives some charges back when all purchases are credited.
func (c *Clients) reverseLast(ctx context.Context) {
	r := c.random(7_001)
	for i := range 5 {
		if e := c.chargedPurchase(r); e != nil {
			c.reverseCharge(ctx, r, e.Token, fmt.Sprintf("last-reversal-%d", i))
		}
	}
}

// reverseCharge repeats a reversal until its outcome is known, but not longer than a minute after the end of the run. It is refused when
// the purchase is not credited yet, or the charge was given back before.
func (c *Clients) reverseCharge(ctx context.Context, r *rand.Rand, token *history.Token, key string) {
	x := history.Reversal{Token: token, Invoke: c.h.Now(), Return: history.Never}
	body := fmt.Appendf(nil, `{"resolvedBidId":%q,"reason":"product_return"}`, token.Text)
	deciding, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(time.Minute, cancel) })
	defer stop()
	for waiting := true; waiting && x.Outcome == history.Unknown; {
		x.Attempts++
		got := c.manage(c.pick(r), http.MethodPost, "/billing-service/reversals", key, body)
		switch x.Outcome = got.outcome(); x.Outcome {
		case history.Unknown:
			waiting = pause(deciding, 100*time.Millisecond)
			continue
		case history.OK:
			var err error
			if x.Amount, err = reversedAmount(got.body); err != nil {
				c.h.Finding("the answer of a reversal: " + err.Error())
			}
		case history.Refused:
			x.Doubtful = x.Attempts > 1
		}
		x.Return = c.h.Now()
	}
	c.h.With(func(h *history.History) { h.Reversed = append(h.Reversed, x) })
}

func reversedAmount(answer []byte) (shop.Micros, error) {
	var read struct{ AmountDecimal string }
	if err := json.Unmarshal(answer, &read); err != nil {
		return 0, fmt.Errorf("%w in %.300s", err, answer)
	}
	return shop.ParseMinor(read.AmountDecimal)
}

// awaitReturns waits until all groups take returns, which a new cluster does when all of its nodes have started: a purchase that was
// reported before cannot be returned. The returns that it sends are of no purchase, so they change nothing.
func (c *Clients) awaitReturns(ctx context.Context) error {
	r := c.random(8_000)
	const returns = 32 // Their ids spread them over the groups.
	for i := range returns {
		e := &history.Event{
			Array: history.Purchase, ID: fmt.Sprintf("set-up-return-%d", i), Product: c.market.products[0], Pieces: 1, Occurred: now(),
			ReturnOf: &history.Event{ID: fmt.Sprintf("set-up-purchase-%d", i)},
		}
		body := text(&history.Body{Events: []*history.Event{e}})
		for {
			got := c.auctionCall(c.http, c.pick(r), "/v2/events", body)
			if outcome := got.outcome(); outcome == history.OK {
				break
			} else if outcome == history.Refused || !pause(ctx, 100*time.Millisecond) {
				return fmt.Errorf("a return: %v", got)
			}
		}
	}
	return nil
}

// awaitCredits waits until the reports of all campaigns have the sales that must be credited to them, and then for creditRest. It gives up
// after creditMax, because what is missing then is missing: the checks say it. REQUIRES: the outcome of every body is known.
func (c *Clients) awaitCredits(ctx context.Context) error {
	credited := check.Credited(c.h)
	waiting, cancel := context.WithTimeout(ctx, creditMax)
	defer cancel()
	for i, campaign := range c.h.Campaigns() {
		for {
			got, err := c.readReport(i%len(c.o.Nodes), campaign)
			if err == nil && credited[campaign].Has(got.Credited) {
				break
			}
			if !pause(waiting, 200*time.Millisecond) {
				return ctx.Err()
			}
		}
	}
	if !pause(ctx, creditRest) {
		return ctx.Err()
	}
	return nil
}
