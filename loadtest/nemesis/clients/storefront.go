package clients

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// storefront is the front end of one shop: it gets tokens from auctions and reports events on them, with the repeats that retry loops,
// double clicks and broken browsers cause.
type storefront struct {
	*Clients
	number int
	r      *rand.Rand
	made   [history.Arrays]int // How many events it has made, by array.
	users  int                 // How many shoppers it has had.
	fresh  []*history.Token    // Tokens of its last auctions that are not reported yet.
	sent   []*history.Event    // Events of its last bodies, some of which are repeated.
	recent []*history.Body     // Its last bodies, whose shoppers may buy what they saw.
}

func (c *Clients) newStorefront(number int) *storefront {
	return &storefront{Clients: c, number: number, r: c.random(uint64(number))}
}

func (s *storefront) run(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		events := 1
		if len(s.fresh) < 20 {
			s.fetch()
		} else {
			b := s.compose()
			events = len(b.Events)
			s.send(b)
		}
		// A storefront sends its share of the rate, and does not catch up after an outage.
		due := time.Duration(events*s.o.Storefronts) * time.Second / time.Duration(s.o.EventsPerSecond)
		if !pause(ctx, due-time.Since(begin)) {
			return
		}
	}
}

// fetch runs three auctions over random products and keeps the tokens of the winners. It ignores a failure that is no refusal.
func (s *storefront) fetch() {
	var lists [][]string
	for range 3 {
		var ids []string
		for _, p := range s.r.Perm(len(s.market.products))[:12] {
			ids = append(ids, s.market.products[p])
		}
		lists = append(lists, ids)
	}
	invoke := s.h.Now()
	winners, got := s.auction(s.http, s.pick(s.r), auctionBody(lists...))
	finish := s.h.Now()
	if got.outcome() == history.Refused {
		s.h.Finding("an auction was refused: " + got.String())
	}
	for _, w := range winners {
		campaign := s.market.byID[w.CampaignID]
		if campaign == nil {
			s.h.Finding(fmt.Sprintf("an auction was won by the unknown campaign %q", w.CampaignID))
			continue
		}
		price, err := priceOf(w.ResolvedBidID)
		if err != nil || price <= 0 || price > campaign.Price {
			s.h.Finding(fmt.Sprintf("campaign %s, which bids %v, won at %v: %v", campaign.Name, campaign.Price, price, err))
			continue
		}
		s.users++
		t := &history.Token{
			Text: w.ResolvedBidID, Campaign: campaign, Price: price, Product: w.ID, User: fmt.Sprintf("s%d-user-%d", s.number, s.users), Invoke: invoke, Return: finish,
		}
		if s.r.IntN(8) == 0 {
			s.exchange.put(s.r, t) // Another storefront reports it later, perhaps when the budget has run out.
		} else {
			s.fresh = append(s.fresh, t)
		}
	}
}

// priceOf returns the price that a token names. No answer of the interface says it, so this one number is read where the token has
// it: little-endian in the bytes 40 to 47 of what its base64 holds. Nothing else of a token is read.
func priceOf(token string) (shop.Micros, error) {
	const at = 40
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) < at+8 {
		return 0, fmt.Errorf("token %q: %w", token, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return shop.Micros(binary.LittleEndian.Uint64(raw[at:])), nil
}

func auctionBody(lists ...[]string) []byte {
	type item = map[string]any
	var auctions []item
	for _, ids := range lists {
		auctions = append(auctions, item{"type": "listings", "slots": 40, "products": item{"ids": ids}})
	}
	text, err := json.Marshal(item{"auctions": auctions})
	if err != nil {
		panic(err) // Maps of strings and numbers.
	}
	return text
}

type winner struct{ ID, ResolvedBidID, CampaignID string }

// auction runs the auctions of a body and returns all their winners.
func (c *Clients) auction(with *http.Client, node int, body []byte) ([]winner, answer) {
	got := c.auctionCall(with, node, "/v2/auctions", body)
	if got.status != http.StatusCreated {
		return nil, got
	}
	var read struct{ Results []struct{ Winners []winner } }
	if err := json.Unmarshal(got.body, &read); err != nil {
		return nil, answer{err: fmt.Errorf("%w in %.300s", err, got.body)}
	}
	var all []winner
	for _, r := range read.Results {
		all = append(all, r.Winners...)
	}
	return all, got
}

// eventsMax is how many events one array holds.
const eventsMax = 50

// compose makes a body of 1 to 50 events: mostly an impression and a click on a new token; sometimes an event that was reported before,
// one event twice, a second click on a token under another id, a token of another storefront, a purchase, a return or a page view.
func (s *storefront) compose() *history.Body {
	want := 1 + s.r.IntN(6)
	if s.r.IntN(4) == 0 {
		want = 1 + s.r.IntN(eventsMax)
	}
	b := &history.Body{Number: int(s.bodies.Add(1)), Acked: history.Never}
	for len(b.Events) < want && len(s.fresh) > 0 {
		b.Events = append(b.Events, s.nextEvents()...)
	}
	b.Events = b.Events[:min(len(b.Events), eventsMax)] // No array gets more than it may hold.
	s.bought.add(b)
	s.sent = append(s.sent, b.Events...)
	if len(s.sent) > 200 {
		s.sent = append([]*history.Event(nil), s.sent[100:]...)
	}
	if s.recent = append(s.recent, b); len(s.recent) > 60 {
		s.recent = append([]*history.Body(nil), s.recent[30:]...)
	}
	return b
}

// nextEvents makes the events of one shopper. REQUIRES: there is a fresh token.
func (s *storefront) nextEvents() []*history.Event {
	p := s.r.IntN(24)
	switch {
	case p == 0 && len(s.sent) > 0:
		return []*history.Event{s.sent[s.r.IntN(len(s.sent))]}
	case p == 1:
		return []*history.Event{s.purchase()}
	case p == 2:
		return []*history.Event{s.event(history.PageView, nil)}
	case p == 3:
		if e := s.acknowledgedPurchase(s.r); e != nil {
			return []*history.Event{s.returnOf(e)}
		}
	case p < 6:
		if t := s.exchange.swap(s.r, s.fresh[0]); t != nil {
			return []*history.Event{s.event(history.Click, t), s.event(history.Impression, t)}
		}
	}
	token := s.fresh[0]
	s.fresh = s.fresh[1:]
	seen, clicked := s.event(history.Impression, token), s.event(history.Click, token)
	switch {
	case p < 9:
		return []*history.Event{seen}
	case p < 12:
		return []*history.Event{seen, clicked, clicked} // The body has one event twice.
	case p < 15:
		// The second pair has new ids and the same token.
		return []*history.Event{seen, clicked, s.event(history.Click, token), s.event(history.Impression, token)}
	}
	return []*history.Event{seen, clicked}
}

// event makes a new event. Ids count per array: the same id in two arrays names two events.
func (s *storefront) event(array history.Array, token *history.Token) *history.Event {
	s.made[array]++
	return &history.Event{Array: array, ID: fmt.Sprintf("s%d-%d", s.number, s.made[array]), Token: token, Occurred: now()}
}

// purchase makes a purchase of one product: mostly by a shopper who was shown it, so that it has to be credited to the ad; sometimes by one
// who was not.
func (s *storefront) purchase() *history.Event {
	e := s.event(history.Purchase, s.seenToken())
	e.Product, e.Pieces = s.market.products[s.r.IntN(len(s.market.products))], 1+s.r.Int64N(3)
	if e.Token != nil {
		e.Product = e.Token.Product
	}
	return e
}

// seenToken draws a token of which an impression or click was acknowledged: of several the first whose campaign pays for purchases. It
// returns nil when it finds none, and sometimes.
func (s *storefront) seenToken() (seen *history.Token) {
	if len(s.recent) == 0 || s.r.IntN(5) == 0 {
		return nil
	}
	s.h.With(func(*history.History) {
		for range 8 {
			b := s.recent[s.r.IntN(len(s.recent))]
			e := b.Events[s.r.IntN(len(b.Events))]
			if b.Acked == history.Never || e.Token == nil || e.Array == history.Purchase {
				continue
			}
			if seen = e.Token; seen.Campaign.Charge == history.Purchase {
				return
			}
		}
	})
	return seen
}

// returnOf makes a return of some pieces of a purchase. It may be another return of the same purchase, and more than is left of it.
func (s *storefront) returnOf(purchase *history.Event) *history.Event {
	e := s.event(history.Purchase, purchase.Token)
	e.Product, e.Pieces, e.ReturnOf = purchase.Product, 1+s.r.Int64N(purchase.Pieces+1), purchase
	return e
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// text is the JSON of a body.
func text(b *history.Body) []byte {
	var arrays [history.Arrays][]string
	for _, e := range b.Events {
		var member string
		switch e.Array {
		case history.Purchase:
			member = purchaseText(e)
		case history.PageView:
			member = `"page":{"type":"home"}`
		default:
			member = fmt.Sprintf(`"resolvedBidId":%q`, e.Token.Text)
		}
		user := fmt.Sprintf("user-%d", len(e.ID)%7)
		if e.Token != nil {
			user = e.Token.User
		}
		arrays[e.Array] = append(arrays[e.Array], fmt.Sprintf(`{"id":%q,"occurredAt":%q,"opaqueUserId":%q,%s}`, e.ID, e.Occurred, user, member))
	}
	var members []string
	for array, list := range arrays {
		if len(list) > 0 {
			members = append(members, fmt.Sprintf("%q:[%s]", history.Names[array], strings.Join(list, ",")))
		}
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

// purchaseText is the members of a purchase or a return.
func purchaseText(e *history.Event) string {
	if e.ReturnOf != nil {
		return fmt.Sprintf(`"returnOf":%q,"items":[{"productId":%q,"quantity":%d}]`, e.ReturnOf.ID, e.Product, -e.Pieces)
	}
	return fmt.Sprintf(`"items":[{"productId":%q,"quantity":%d,"unitPrice":%s}]`, e.Product, e.Pieces, major(history.UnitPrice))
}

// tokenExchange is a table in which storefronts leave tokens for others, so that two of them report a token, or one reports it late.
type tokenExchange struct {
	mu     sync.Mutex
	tokens [512]*history.Token
}

// put leaves a token in a random place.
func (s *tokenExchange) put(r *rand.Rand, t *history.Token) { s.swap(r, t) }

// swap leaves a token in a random place and returns the one that was there, nil when the place was empty.
func (s *tokenExchange) swap(r *rand.Rand, mine *history.Token) *history.Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := r.IntN(len(s.tokens))
	other := s.tokens[i]
	s.tokens[i] = mine
	return other
}
