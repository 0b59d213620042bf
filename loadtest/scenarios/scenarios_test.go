package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// tokenServer answers every auction with as many new tokens as slots.
type tokenServer struct{ sold int }

func (v *tokenServer) Close() {}

func (v *tokenServer) Post(_ string, body []byte) (int, []byte, error) {
	var req struct{ Auctions []struct{ Slots int } }
	if err := json.Unmarshal(body, &req); err != nil {
		return 400, nil, err
	}
	answer := []byte(`{"results":[`)
	for range req.Auctions {
		for range req.Auctions[0].Slots {
			v.sold++
			answer = fmt.Appendf(answer, `{"id":"of-%d","resolvedBidId":"tok-%d"}`, v.sold, v.sold)
		}
	}
	return 201, append(answer, ']'), nil
}

func environment() *Env {
	products := make([]string, 300)
	for i := range products {
		products[i] = fmt.Sprintf("p%d", i)
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var machines atomic.Int64
	return &Env{
		Seed: 1, Run: "run", Products: products, Auctions: 2, IDs: 20, Slots: 4, Events: 10, Tokens: 1_000,
		Dial: func() (Poster, error) { return &tokenServer{int(machines.Add(1)) * 1_000_000}, nil },
		Now:  func() time.Time { return now },
	}
}

type event struct {
	ID, ResolvedBidID, OccurredAt, OpaqueUserID string
	Items                                       []struct{ ProductID string }
}

type eventBody struct{ Impressions, Clicks, Purchases, Pageviews []event }

// drive lets two workers of a scenario make n requests each, answers them, and returns the bodies of events that they sent.
func drive(t *testing.T, name string, n int) (auctions int, bodies []eventBody) {
	t.Helper()
	env := environment()
	s, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	node, _ := env.Dial()
	for i := range 2 {
		w := s.Worker(i)
		var r Request
		for range n {
			if !w.Next(&r) {
				break
			}
			if IsAuction(r.Path) {
				auctions++
				_, answer, err := node.Post(r.Path, r.Body)
				if err != nil {
					t.Fatalf("%s in %s", err, r.Body)
				}
				w.Answer(&r, answer)
				continue
			}
			var b eventBody
			if err := json.Unmarshal(r.Body, &b); err != nil {
				t.Fatalf("%v in %s", err, r.Body)
			}
			if r.Impressions != len(b.Impressions) || r.Clicks != len(b.Clicks) || r.Others != len(b.Purchases)+len(b.Pageviews) {
				t.Fatalf("the request says %d, %d, %d of %s", r.Impressions, r.Clicks, r.Others, r.Body)
			}
			if max(r.Impressions, r.Clicks) > env.Events {
				t.Fatalf("%d impressions, %d clicks in one body", r.Impressions, r.Clicks)
			}
			bodies = append(bodies, b)
			w.Answer(&r, []byte("{}"))
		}
	}
	return auctions, bodies
}

// In every scenario event ids are never used twice, no token is clicked twice or shown twice, and every clicked or
// shown token came from an auction.
func TestEventsAreUniqueAndClicksHaveTheirOwnToken(t *testing.T) {
	for _, name := range All[1:] { // All but auctions, which report no events.
		auctions, bodies := drive(t, name, 400)
		ids, clicked, shown := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, b := range bodies {
			for _, e := range slices.Concat(b.Impressions, b.Clicks, b.Purchases, b.Pageviews) {
				if ids[e.ID] || e.ID == "" || e.OpaqueUserID == "" || e.OccurredAt != "2026-03-04T05:06:07.000Z" {
					t.Fatalf("%s: event %+v", name, e)
				}
				ids[e.ID] = true
			}
			for kind, list := range map[*map[string]bool][]event{&clicked: b.Clicks, &shown: b.Impressions} {
				for _, e := range list {
					if (*kind)[e.ResolvedBidID] || !bytes.HasPrefix([]byte(e.ResolvedBidID), []byte("tok-")) {
						t.Fatalf("%s: token %q a second time", name, e.ResolvedBidID)
					}
					(*kind)[e.ResolvedBidID] = true
				}
			}
		}
		page := name != "clicks" && name != "sales" // The others click tokens that were fetched before.
		if len(clicked) == 0 || page != (len(shown) > 0) || page != (auctions > 0) {
			t.Errorf("%s: %d auctions, %d shown, %d clicked", name, auctions, len(shown), len(clicked))
		}
	}
}

// The pages of a storefront have the shares that were asked for, and go where pages of their kind go.
func TestPagesHaveTheirShares(t *testing.T) {
	p, err := preparePages(environment(), storefrontPages)
	if err != nil {
		t.Fatal(err)
	}
	seen, different := map[string]int{}, map[string]bool{}
	for range len(p.all) {
		var r Request
		p.take(&r)
		seen[r.Page]++
		different[string(r.Body)] = true
		if (r.Path == TravelPath) != (r.Page == TravelPage) || !IsAuction(r.Path) || !json.Valid(r.Body) {
			t.Fatalf("%s goes to %s: %s", r.Page, r.Path, r.Body)
		}
	}
	for _, s := range storefrontPages {
		want := len(p.all) * s.weight / 100
		if n := seen[s.page]; n < want*4/5 || n > want*6/5 {
			t.Errorf("%d of %d pages are %s, want about %d", n, len(p.all), s.page, want)
		}
	}
	if len(seen) != len(storefrontPages) || len(different) < len(p.all)/3 {
		t.Errorf("%d kinds, %d different bodies of %d", len(seen), len(different), len(p.all))
	}
}

// Only pages other than listings need ads that a market of products does not have.
func TestWhichScenariosNeedAds(t *testing.T) {
	var needing []string
	for _, name := range All {
		if NeedsAds(name) {
			needing = append(needing, name)
		}
	}
	if want := []string{"search", "banners", "travel", "storefront"}; !slices.Equal(needing, want) || NeedsAds("none") {
		t.Errorf("%q, want %q", needing, want)
	}
}

func TestClicksEndsWithItsTokens(t *testing.T) {
	_, bodies := drive(t, "clicks", 1_000)
	clicks := 0
	for _, b := range bodies {
		clicks += len(b.Clicks)
	}
	if clicks != 1_000 {
		t.Errorf("%d clicks from 1000 tokens", clicks)
	}
}

// A twentieth of the events are purchases, each by a user of what the same user has clicked before.
func TestSalesAreOfWhatWasClicked(t *testing.T) {
	_, bodies := drive(t, "sales", 1_000)
	clicked := map[string]map[string]bool{} // Products by user.
	events, bought := 0, 0
	for _, b := range bodies {
		for _, e := range b.Purchases {
			if !clicked[e.OpaqueUserID][e.Items[0].ProductID] {
				t.Fatalf("%+v was not clicked by its user", e)
			}
		}
		for _, e := range b.Clicks {
			if clicked[e.OpaqueUserID] == nil {
				clicked[e.OpaqueUserID] = map[string]bool{}
			}
			clicked[e.OpaqueUserID]["of-"+strings.TrimPrefix(e.ResolvedBidID, "tok-")] = true
		}
		events, bought = events+len(b.Clicks)+len(b.Purchases), bought+len(b.Purchases)
	}
	if share := float64(bought) / float64(events); events < 1_000 || share < 0.03 || share > 0.07 {
		t.Errorf("%d purchases of %d events", bought, events)
	}
	if users := len(clicked); users < 1_000/clicksOfUser {
		t.Errorf("%d users", users)
	}
}

func TestAuctionBodiesAreManyAndDifferent(t *testing.T) {
	b, err := prepareBodies(environment())
	if err != nil {
		t.Fatal(err)
	}
	different := map[string]bool{}
	for range bodiesMax {
		different[string(b.take())] = true
	}
	if len(different) < 2_048 {
		t.Errorf("%d different bodies", len(different))
	}
}

func TestTokensAreReadBack(t *testing.T) {
	pool := &Tokens{}
	pool.add([]byte(`{"x":[{"resolvedBidId":"a-1","r":1},{"resolvedBidId":"b_2"}]}`))
	pool.add([]byte(`{"results":[]}`))
	pool.add([]byte(`{"resolvedBidId":"c"},{"resolvedBidId":"cut off`))
	var got []string
	for i := range pool.Len() {
		got = append(got, string(pool.At(i)))
	}
	if !slices.Equal(got, []string{"a-1", "b_2", "c"}) {
		t.Fatalf("%q", got)
	}
	if first, ok := pool.Take(2); first != 0 || !ok {
		t.Errorf("first %d %v", first, ok)
	}
	if _, ok := pool.Take(2); ok {
		t.Error("took 4 of 3")
	}
}

func TestAMarketThatSellsNothingIsAnError(t *testing.T) {
	env := environment()
	env.Dial = func() (Poster, error) { return empty{}, nil }
	if err := (&clicks{}).Prepare(t.Context(), env); err == nil {
		t.Error("no winners, yet no error")
	}
}

type empty struct{}

func (empty) Close() {}

func (empty) Post(string, []byte) (int, []byte, error) { return 201, []byte(`{"results":[]}`), nil }
