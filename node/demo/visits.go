package demo

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/shard/event"
)

const (
	// pagesPerDay is about how many pages the shoppers of a history visit on a day. BOUND: thirty days of them are written
	// in seconds of a first start; they have some 23,000 auctions and 58,000 events.
	pagesPerDay = 400
	// regulars are shoppers who come again; regularRate is their part of all visits.
	regulars, regularRate = 300, 0.35
	// soonRate is the part of purchases that are made within soonMinutes of the click; the others follow within two days.
	soonRate, soonMinutes = 0.7, 30
)

// hourShares are the visits in each hour of the day, and dayShares those of each day of the week from Sunday on, relative
// to an average hour and day.
var (
	hourShares = [24]float64{
		0.4, 0.2, 0.2, 0.1, 0.1, 0.2, 0.5, 0.8, 1, 1.1, 1.2, 1.2, 1.4, 1.2, 1.1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 1.9, 1.3, 0.8,
	}
	dayShares = [7]float64{1.2, 0.9, 0.9, 0.95, 1, 1.05, 1.15}
)

// visits returns how many pages are visited in the hour. The market grows slowly, so that a comparison with earlier days
// has something to show.
func (h *history) visits() int {
	local, days := h.begin.In(h.Zone), h.begin.Sub(h.Begin).Hours()/24
	want := pagesPerDay / 24. * hourShares[local.Hour()] * dayShares[local.Weekday()] * (0.85 + days/100)
	return int(want + h.rng.Float64())
}

// id returns a name that no other event or guest of the history has.
func (h *history) id(kind string) string {
	h.ids++
	return kind + "-" + strconv.FormatInt(h.begin.Unix(), 36) + "-" + strconv.Itoa(h.ids)
}

// shopper returns the opaque id of a visitor.
func (h *history) shopper() string {
	if h.rng.Float64() < regularRate {
		return "regular-" + strconv.Itoa(h.rng.IntN(regulars))
	}
	return h.id("guest")
}

// request returns the path and the auctions of a page that a shopper visits. Pages of categories are rare, because nearly
// half of all campaigns lose on each (popularPages).
func (h *history) request(user string) (path string, auctions []any) {
	switch kind := h.rng.IntN(100); {
	case kind < 1:
		return "/v2/auctions", categoryPage(user, h.market.Categories[h.rng.IntN(len(h.market.Categories))].ID)
	case kind < 16:
		return "/v2/auctions", searchPage(user, searchQuery(h.rng))
	case kind < 22:
		triggers := map[string]any{"searchQuery": searchQuery(h.rng)}
		return "/v2/auctions/sponsored-brand", []any{map[string]any{"winners": 1, "placementId": BrandRow, "triggers": triggers}}
	case kind < 28:
		place := map[string]any{"id": []string{"travel-city", "travel-beach"}[h.rng.IntN(2)]}
		context := map[string]any{"site": Site, "travelerType": "couple"}
		return "/v2/auctions/travel", []any{map[string]any{"type": "hotels", "slots": 2, "travelContext": context, "category": place}}
	default:
		return "/v2/auctions", productPage(user, h.popular.choose(h.rng))
	}
}

// visit is one page view: its auctions, and what the shopper does with their winners.
func (h *history) visit(at time.Time) error {
	user := h.shopper()
	path, auctions := h.request(user)
	body, err := json.Marshal(map[string]any{"auctions": auctions})
	if err != nil {
		return err
	}
	raw, err := h.past.Serve(at, path, body)
	if err != nil {
		return err
	}
	var got auctionAnswer
	if err := json.Unmarshal(raw, &got); err != nil {
		return fmt.Errorf("answer of %s: %w", path, err)
	}
	h.performed.Auctions += len(auctions)
	for _, result := range got.Results {
		for rank, w := range result.Winners {
			seen := h.event("i", at.Add(time.Second), user)
			seen.Token = w.ResolvedBidID
			h.pending.Impressions = append(h.pending.Impressions, seen)
			if clicks(h.rng, rank) {
				h.click(at.Add(time.Duration(2+h.rng.IntN(40))*time.Second), user, w.ResolvedBidID, w.Type == "product", w.ID)
			}
		}
	}
	if h.pending.full() {
		return h.report()
	}
	return nil
}

// click adds a click, and the purchase to which it leads, if any.
func (h *history) click(at time.Time, user, token string, product bool, id string) {
	clicked := h.event("c", at, user)
	clicked.Token, clicked.ClickType = token, "product"
	h.pending.Clicks = append(h.pending.Clicks, clicked)
	if !product || h.rng.Float64() >= buyRate {
		return
	}
	wait := time.Duration(3+h.rng.IntN(soonMinutes)) * time.Minute
	if h.rng.Float64() >= soonRate {
		wait = time.Duration(1+h.rng.IntN(47)) * time.Hour
	}
	h.later = append(h.later, purchase{at.Add(wait), user, item{id, 1 + h.rng.IntN(2)}})
}

// event is what a shopper does at a time.
func (h *history) event(kind string, at time.Time, user string) shopperEvent {
	return shopperEvent{ID: h.id(kind), OccurredAt: instant(at), User: user, Device: deviceOf(user)}
}

// purchase is one that a shopper makes at a time.
type purchase struct {
	at   time.Time
	user string
	item item
}

// buyDue reports the purchases that are made until the reports of the hour end. Those of the minutes after that are reported
// in the next hour.
func (h *history) buyDue() error {
	var left []purchase
	for _, p := range h.later {
		if p.at.After(h.begin.Add(reportMinute * time.Minute)) {
			left = append(left, p)
			continue
		}
		bought := h.event("p", p.at, p.user)
		bought.Items = []item{p.item}
		h.pending.Purchases = append(h.pending.Purchases, bought)
		if h.pending.full() {
			if err := h.report(); err != nil {
				return err
			}
		}
	}
	h.later = left
	return nil
}

// report is the body of an events request.
type report struct {
	Impressions []shopperEvent `json:"impressions,omitempty"`
	Clicks      []shopperEvent `json:"clicks,omitempty"`
	Purchases   []shopperEvent `json:"purchases,omitempty"`
}

// shopperEvent is an event of any kind.
type shopperEvent struct {
	ID         string `json:"id"`
	OccurredAt string `json:"occurredAt"`
	User       string `json:"opaqueUserId"`
	Device     string `json:"deviceType"`
	Token      string `json:"resolvedBidId,omitempty"`
	ClickType  string `json:"clickType,omitempty"`
	Items      []item `json:"items,omitempty"`
}

type item struct {
	ProductID string `json:"productId"`
	Quantity  int    `json:"quantity"`
}

func instant(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// full reports whether the next page may have more events than fit.
func (r *report) full() bool {
	most := max(len(r.Impressions), len(r.Clicks), len(r.Purchases))
	return most > event.PerArrayMax-2*pageWinners
}

// report sends the events that were not reported yet.
func (h *history) report() error {
	p := &h.pending
	if len(p.Impressions)+len(p.Clicks)+len(p.Purchases) == 0 {
		return nil
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if _, err := h.past.Serve(h.begin.Add(reportMinute*time.Minute), "/v2/events", body); err != nil {
		return err
	}
	h.performed.Impressions += len(p.Impressions)
	h.performed.Clicks += len(p.Clicks)
	h.performed.Purchases += len(p.Purchases)
	p.Impressions, p.Clicks, p.Purchases = p.Impressions[:0], p.Clicks[:0], p.Purchases[:0]
	return nil
}
