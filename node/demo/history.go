package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gavel-ads/gavel/shard/money"
)

// Past is a marketplace whose clock is in the past and moves as WriteHistory says.
type Past interface {
	// BeginHour moves the clock to the begin of an hour, and carries out what is due by then: budget periods begin, and
	// purchases are credited.
	BeginHour(ctx context.Context, at time.Time) error
	// Serve answers a request of the auction interface that comes at a moment of the hour. An answer of 300 or above is an
	// error.
	Serve(at time.Time, path string, body []byte) (answer []byte, err error)
	// EndHour moves the clock to the end of an hour and reports its auctions.
	EndHour(ctx context.Context, at time.Time) error

	// TopUp deposits an amount for a vendor whose balance is below a limit.
	TopUp(ctx context.Context, vendorID string, below, amount money.Micros) error
	// SetBudget changes the budget of a vendor's campaign, which is found by its name.
	SetBudget(ctx context.Context, vendorID, campaign string, budget money.Micros) error
	// SetActive pauses or resumes a vendor's campaign.
	SetActive(ctx context.Context, vendorID, campaign string, active bool) error
}

// HistoryOptions say which hours WriteHistory writes.
type HistoryOptions struct {
	Seed uint64         // Of what shoppers do. Each hour has random numbers of its own, so that a part gives the same as the whole.
	Zone *time.Location // Of the marketplace: it decides when people sleep.
	// Begin is the midnight at which the history begins, and From the begin of the first hour that is written: a history
	// that was interrupted goes on there.
	Begin, From time.Time
	Now         func() time.Time // The wall clock. Hours that are over by it are written.
	// Progress is called after each hour with the hours that are written, and all. [not called]
	Progress func(done, total int)
}

// Performed counts what the shoppers of a history did.
type Performed struct{ Auctions, Impressions, Clicks, Purchases int }

// WriteHistory writes the hours of a marketplace from o.From until now. Shoppers come at their hours of the day and days of
// the week, visit popular pages more often than others, click, and buy then or later. An operator tops wallets up once a
// week and changes some campaigns. All of it goes through past, which charges and counts as at any other time. An error
// names the hour that failed; the hours before it are complete.
func WriteHistory(ctx context.Context, m *Market, past Past, o HistoryOptions) (Performed, error) {
	h := &history{HistoryOptions: o, market: m, past: past, popular: newPopular(m, o.Seed)}
	h.leaders = h.popular.leaders(m)
	total := int(o.Now().Sub(o.From) / time.Hour)
	for at := o.From; !at.Add(time.Hour).After(o.Now()); at = at.Add(time.Hour) {
		if err := ctx.Err(); err != nil {
			return h.performed, err
		}
		if err := h.hour(ctx, at); err != nil {
			return h.performed, fmt.Errorf("the hour from %s of the demo's history: %w", at.UTC().Format(time.RFC3339), err)
		}
		if o.Progress != nil {
			o.Progress(int(at.Add(time.Hour).Sub(o.From)/time.Hour), total)
		}
	}
	return h.performed, nil
}

// history is a history while it is written.
type history struct {
	HistoryOptions

	market    *Market
	past      Past
	popular   popular
	leaders   []leader
	performed Performed

	rng     *rand.Rand
	begin   time.Time // Of the hour that is written.
	ids     int       // Number of events and guests of the hour so far.
	pending report
	later   []purchase // Purchases that shoppers make later.
}

// Of each hour, shoppers visit the first visitMinutes, and report until reportMinute. BOUND: the hour ends after the last
// report, also when the commits of an hour take minutes of real time, because the clock goes on meanwhile: a charge belongs
// to the day in which it is committed.
const (
	visitMinutes = 48
	reportMinute = 50
)

// hour writes the hour that begins at a time.
func (h *history) hour(ctx context.Context, at time.Time) error {
	h.rng = rand.New(rand.NewPCG(h.Seed, uint64(at.Unix()))) //nolint:gosec // a demo; after 1970.
	h.begin, h.ids = at, 0
	if err := h.past.BeginHour(ctx, at); err != nil {
		return err
	}
	if err := h.operate(ctx); err != nil {
		return err
	}
	n := h.visits()
	for i := range n {
		moment := at.Add(time.Duration((float64(i) + h.rng.Float64()) / float64(n) * float64(visitMinutes*time.Minute)))
		if err := h.visit(moment); err != nil {
			return err
		}
	}
	if err := h.buyDue(); err != nil {
		return err
	}
	if err := h.report(); err != nil {
		return err
	}
	return h.past.EndHour(ctx, at.Add(reportMinute*time.Minute))
}

// operatingHour is the hour of the day in which the operator works.
const operatingHour = 8

// Days of the history, the first one being 0, on which the operator does something. A short history has the first ones.
const (
	limitDay, pauseDay, resumeDay, raiseDay = 1, 3, 5, 12
	topUpDays                               = 7
)

// operate does what the operator does in the hour. The leaders are the campaigns that spend most: some of them get budgets
// that do not last for a day, so that the market has campaigns that are limited by their budget and others that are not.
func (h *history) operate(ctx context.Context) error {
	if h.begin.In(h.Zone).Hour() != operatingHour {
		return nil
	}
	day := int(h.begin.Sub(h.Begin) / (24 * time.Hour)) // Right also when clocks change at night.
	switch day {
	case limitDay:
		return h.setBudgets(ctx, units(1), 0, 2, 4, 6)
	case pauseDay:
		return h.setActive(ctx, false, 1)
	case resumeDay:
		return h.setActive(ctx, true, 1)
	case raiseDay:
		return h.setBudgets(ctx, units(15), 2)
	}
	if day == 0 || day%topUpDays != 0 {
		return nil
	}
	topped := map[string]bool{}
	for _, l := range h.leaders {
		if topped[l.VendorID] {
			continue
		}
		topped[l.VendorID] = true
		if err := h.past.TopUp(ctx, l.VendorID, units(100), units(100)); err != nil {
			return fmt.Errorf("top up the wallet of vendor %s: %w", l.VendorID, err)
		}
	}
	return nil
}

// setBudgets sets the budgets of some leaders, by their place.
func (h *history) setBudgets(ctx context.Context, budget money.Micros, places ...int) error {
	for _, at := range places {
		if at >= len(h.leaders) {
			break
		}
		if err := h.past.SetBudget(ctx, h.leaders[at].VendorID, h.leaders[at].Name, budget); err != nil {
			return fmt.Errorf("change the budget of campaign %q: %w", h.leaders[at].Name, err)
		}
	}
	return nil
}

// setActive pauses or resumes a leader.
func (h *history) setActive(ctx context.Context, active bool, place int) error {
	if place >= len(h.leaders) {
		return nil
	}
	if err := h.past.SetActive(ctx, h.leaders[place].VendorID, h.leaders[place].Name, active); err != nil {
		return fmt.Errorf("pause or resume campaign %q: %w", h.leaders[place].Name, err)
	}
	return nil
}
