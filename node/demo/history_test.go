package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/money"
)

// pastRecorder is a past that answers each auction with two winners and records what it is asked for.
type pastRecorder struct {
	t       *testing.T
	hours   []time.Time
	visits  map[time.Time]int      // By the begin of their hour.
	bodies  map[time.Time][]string // Of auctions.
	ids     map[string]bool        // Of events.
	events  map[string]int         // By kind.
	tokens  int
	changes []string
	failAt  time.Time // BeginHour fails there; zero: nowhere.
}

func newPastRecorder(t *testing.T) *pastRecorder {
	return &pastRecorder{t: t, visits: map[time.Time]int{}, bodies: map[time.Time][]string{}, ids: map[string]bool{}, events: map[string]int{}}
}

func (p *pastRecorder) now() time.Time { return p.hours[len(p.hours)-1] }

func (p *pastRecorder) BeginHour(_ context.Context, at time.Time) error {
	if at.Equal(p.failAt) {
		return errors.New("planted")
	}
	p.hours = append(p.hours, at)
	return nil
}

func (p *pastRecorder) EndHour(_ context.Context, at time.Time) error {
	if at.Before(p.now()) || !at.Before(p.now().Add(time.Hour)) {
		p.t.Errorf("the hour from %s ends at %s", p.now(), at)
	}
	return nil
}

func (p *pastRecorder) Serve(at time.Time, path string, body []byte) ([]byte, error) {
	if at.Before(p.now()) || !at.Before(p.now().Add(time.Hour)) {
		p.t.Errorf("a request comes at %s, in the hour from %s", at, p.now())
	}
	if path == "/v2/events" {
		return []byte("{}"), p.record(at, body)
	}
	p.visits[p.now()]++
	p.bodies[p.now()] = append(p.bodies[p.now()], string(body))
	var asked struct{ Auctions []any }
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	p.tokens += 2 * len(asked.Auctions)
	result := `{"winners":[{"type":"product","id":"p1","resolvedBidId":"a"},{"type":"product","id":"p2","resolvedBidId":"b"}]}`
	return []byte(`{"results":[` + strings.Repeat(result+",", len(asked.Auctions)-1) + result + `]}`), nil
}

// record counts the events of a body, whose times must be before that of the request and not long before.
func (p *pastRecorder) record(at time.Time, body []byte) error {
	var all map[string][]shopperEvent
	if err := json.Unmarshal(body, &all); err != nil {
		return err
	}
	for kind, events := range all {
		p.events[kind] += len(events)
		if len(events) > event.PerArrayMax {
			p.t.Errorf("%d %s in one request", len(events), kind)
		}
		for _, e := range events {
			occurred, err := time.Parse(time.RFC3339, e.OccurredAt)
			if err != nil || occurred.After(at) || at.Sub(occurred) > 2*time.Hour {
				p.t.Errorf("an event of %s reported at %s: %v", e.OccurredAt, at, err)
			}
			if p.ids[e.ID] || e.User == "" {
				p.t.Errorf("event %+v", e)
			}
			p.ids[e.ID] = true
		}
	}
	return nil
}

func (p *pastRecorder) TopUp(_ context.Context, vendorID string, _, _ money.Micros) error {
	p.changes = append(p.changes, "top up "+vendorID)
	return nil
}

func (p *pastRecorder) SetBudget(_ context.Context, _, campaign string, budget money.Micros) error {
	p.changes = append(p.changes, fmt.Sprintf("budget of %s %d", campaign, budget/units(1)))
	return nil
}

func (p *pastRecorder) SetActive(_ context.Context, _, campaign string, active bool) error {
	p.changes = append(p.changes, fmt.Sprintf("%s %t", campaign, active))
	return nil
}

var historyBegin = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC) // A Monday.

// writeTo writes a history of a small market that began at historyBegin, from an hour until a time.
func writeTo(t *testing.T, p *pastRecorder, from, until time.Time) (Performed, error) {
	t.Helper()
	m := Generate(Options{Products: 2000, Vendors: 30, Campaigns: 90})
	return WriteHistory(t.Context(), m, p, HistoryOptions{
		Seed: 1, Zone: time.UTC, Begin: historyBegin, From: from, Now: func() time.Time { return until },
	})
}

func TestAHistoryHasEveryHourThatIsOver(t *testing.T) {
	p := newPastRecorder(t)
	got, err := writeTo(t, p, historyBegin, historyBegin.Add(14*24*time.Hour+90*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.hours) != 14*24+1 || !p.hours[0].Equal(historyBegin) || !slices.IsSortedFunc(p.hours, time.Time.Compare) {
		t.Errorf("%d hours", len(p.hours))
	}
	byHour, byDay, visits := [24]int{}, [7]int{}, 0
	for at, n := range p.visits {
		visits += n
		byHour[at.Hour()] += n
		byDay[at.Weekday()] += n
	}
	if visits < 14*pagesPerDay*8/10 || visits > 14*pagesPerDay*12/10 {
		t.Errorf("%d visits", visits)
	}
	if byHour[20] < 5*byHour[3] || byDay[time.Sunday] <= byDay[time.Tuesday] {
		t.Errorf("by hour %v, by day %v: people sleep, and shop on Sundays", byHour, byDay)
	}
	if got.Impressions != p.tokens || p.events["impressions"] != p.tokens || p.events["clicks"] != got.Clicks || p.events["purchases"] != got.Purchases {
		t.Errorf("counted %+v, received %v of %d winners", got, p.events, p.tokens)
	}
	if got.Auctions < 2*visits*8/10 || got.Clicks < got.Impressions/30 || got.Clicks > got.Impressions/15 || got.Purchases < got.Clicks/20 {
		t.Errorf("performed %+v", got)
	}
}

// The operator limits budgets, pauses a campaign and resumes it, and tops up once a week.
func TestTheOperatorOfAHistory(t *testing.T) {
	p := newPastRecorder(t)
	if _, err := writeTo(t, p, historyBegin, historyBegin.Add(15*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	leaders := newPopularOf(t)
	want := []string{
		"budget of " + leaders[0].Name + " 1", "budget of " + leaders[2].Name + " 1", "budget of " + leaders[4].Name + " 1", "budget of " + leaders[6].Name + " 1",
		leaders[1].Name + " false", leaders[1].Name + " true",
	}
	var weekly []string
	for _, l := range leaders {
		if top := "top up " + l.VendorID; !slices.Contains(weekly, top) {
			weekly = append(weekly, top)
		}
	}
	want = slices.Concat(want, weekly, []string{"budget of " + leaders[2].Name + " 15"}, weekly)
	if !slices.Equal(p.changes, want) {
		t.Errorf("changes %q\nwant    %q", p.changes, want)
	}
}

func newPopularOf(t *testing.T) []leader {
	t.Helper()
	m := Generate(Options{Products: 2000, Vendors: 30, Campaigns: 90})
	p := newPopular(m, 1)
	all := p.leaders(m)
	if len(all) < 10 {
		t.Fatalf("%d leaders", len(all))
	}
	return all
}

// A history that was interrupted goes on with the same shoppers, and repeats no event.
func TestAnInterruptedHistoryGoesOn(t *testing.T) {
	whole, parts := newPastRecorder(t), newPastRecorder(t)
	end, middle := historyBegin.Add(72*time.Hour), historyBegin.Add(30*time.Hour)
	if _, err := writeTo(t, whole, historyBegin, end); err != nil {
		t.Fatal(err)
	}
	parts.failAt = middle
	if _, err := writeTo(t, parts, historyBegin, end); err == nil || !strings.Contains(err.Error(), "2026-03-03T06:00:00Z") {
		t.Fatalf("the failure of an hour is %v", err)
	}
	parts.failAt = time.Time{}
	if _, err := writeTo(t, parts, middle, end); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(whole.hours, parts.hours, time.Time.Equal) {
		t.Errorf("%d hours in one, %d in two parts", len(whole.hours), len(parts.hours))
	}
	for at, want := range whole.bodies {
		if !slices.Equal(parts.bodies[at], want) {
			t.Errorf("the hour from %s has other auctions in two parts", at)
		}
	}
}

// A few campaigns lead the popular pages, and each leader has the highest bid of a page.
func TestLeadersBidMost(t *testing.T) {
	m := Generate(Options{Products: 2000, Vendors: 30, Campaigns: 90})
	highest := map[string]money.Micros{}
	for i := range m.Products {
		if m.Products[i].Active {
			highest[m.Products[i].ID] = 0
		}
	}
	for i := range m.Campaigns {
		for _, b := range m.Campaigns[i].Bids {
			if had, active := highest[b.Target]; active {
				highest[b.Target] = max(had, b.Amount)
			}
		}
	}
	p := newPopular(m, 1)
	first, most := p.leaders(m)[0], money.Micros(0)
	for _, id := range p.pages[0] {
		most = max(most, highest[id])
	}
	for i := range m.Campaigns {
		c := &m.Campaigns[i]
		if c.VendorID != first.VendorID || c.Name != first.Name {
			continue
		}
		for _, b := range c.Bids {
			if b.Amount == most && slices.Contains(p.pages[0], b.Target) {
				return
			}
		}
	}
	t.Errorf("the leader %+v does not bid %d on the first page", first, most)
}
