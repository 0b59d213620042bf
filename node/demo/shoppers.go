package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Shoppers are simulated visitors of the storefront: each opens a page of products or a category, sees the sponsored
// winners, sometimes clicks one and sometimes buys it. They send HTTP requests to the auction listener like any client.
type Shoppers struct {
	base   string
	key    string
	market *Market
	client *http.Client
	counts Counts
}

// Counts counts what the shoppers have done so far.
type Counts struct {
	Auctions, Winners, Impressions, Clicks, Purchases, Failures atomic.Int64
}

const (
	pageIDs      = 24                     // Products on one page of the storefront.
	pageWinners  = 4                      // Sponsored products among them.
	thinkMean    = 400 * time.Millisecond // Mean pause between two pages of one shopper.
	buyRate      = 0.12                   // Purchases per click.
	topClickRate = 0.06                   // Clicks per impression at rank 1.
)

// rankExposure is the probability that a shopper looks at a rank, relative to rank 1.
var rankExposure = [pageWinners]float64{1, 0.8, 0.6, 0.54}

// NewShoppers returns shoppers for a market; base is the URL of the auction listener.
func NewShoppers(base, key string, m *Market) *Shoppers {
	return &Shoppers{base: base, key: key, market: m, client: &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// Counts returns the live counters.
func (s *Shoppers) Counts() *Counts { return &s.counts }

// Run lets n shoppers browse until the context ends, and returns when all have stopped.
func (s *Shoppers) Run(ctx context.Context, n int, seed uint64) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			v := visitor{Shoppers: s, rng: rand.New(rand.NewPCG(seed, uint64(i)))} //nolint:gosec // a demo.
			v.id = fmt.Sprintf("shopper-%d-%d", seed, i)
			v.browse(ctx)
		})
	}
	all.Wait()
}

// FirstWinner runs a listings auction among products and returns the token of its first winner, or "" when nothing won.
func (s *Shoppers) FirstWinner(ctx context.Context, products []string) (string, error) {
	var got auctionAnswer
	auction := map[string]any{"type": "listings", "slots": 1, "products": map[string]any{"ids": products}}
	v := visitor{Shoppers: s}
	if err := v.post(ctx, "/v2/auctions", map[string]any{"auctions": []any{auction}}, &got); err != nil {
		return "", err
	}
	for _, result := range got.Results {
		for _, w := range result.Winners {
			return w.ResolvedBidID, nil
		}
	}
	return "", nil
}

type visitor struct {
	*Shoppers
	rng *rand.Rand
	id  string
	seq int
}

func (v *visitor) browse(ctx context.Context) {
	for {
		pause := time.Duration(v.rng.ExpFloat64() * float64(thinkMean))
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(pause, 10*thinkMean)):
		}
		if err := v.page(ctx); err != nil && ctx.Err() == nil {
			v.counts.Failures.Add(1)
		}
	}
}

type auctionAnswer struct {
	Results []struct {
		Winners []struct {
			Type          string `json:"type"`
			ID            string `json:"id"`
			ResolvedBidID string `json:"resolvedBidId"`
		} `json:"winners"`
	} `json:"results"`
}

// page is one page view: an auction, the impressions of its winners, and the clicks and purchases of the shopper.
func (v *visitor) page(ctx context.Context) error {
	var got auctionAnswer
	if err := v.post(ctx, "/v2/auctions", map[string]any{"auctions": v.auctions()}, &got); err != nil {
		return err
	}
	v.counts.Auctions.Add(1)
	var impressions, clicked, purchases []any
	for _, result := range got.Results {
		for rank, w := range result.Winners {
			v.counts.Winners.Add(1)
			impressions = append(impressions, v.event(map[string]any{"resolvedBidId": w.ResolvedBidID}))
			if !clicks(v.rng, rank) {
				continue
			}
			clicked = append(clicked, v.event(map[string]any{"resolvedBidId": w.ResolvedBidID, "clickType": "product"}))
			if w.Type == "product" && v.rng.Float64() < buyRate {
				items := []any{map[string]any{"productId": w.ID, "quantity": 1 + v.rng.IntN(2)}}
				purchases = append(purchases, v.event(map[string]any{"items": items}))
			}
		}
	}
	if len(impressions) == 0 {
		return nil
	}
	body := map[string]any{"impressions": impressions, "clicks": clicked, "purchases": purchases}
	if err := v.post(ctx, "/v2/events", body, nil); err != nil {
		return err
	}
	v.counts.Impressions.Add(int64(len(impressions)))
	v.counts.Clicks.Add(int64(len(clicked)))
	v.counts.Purchases.Add(int64(len(purchases)))
	return nil
}

// clicks reports whether a shopper clicks a winner; rank 0 is the first.
func clicks(rng *rand.Rand, rank int) bool {
	return rng.Float64() < topClickRate*rankExposure[min(rank, pageWinners-1)]
}

// auctions returns those of a category in one case of three, of the results of a search in one of six, and otherwise of a
// page of products, in which popular ones are more likely.
func (v *visitor) auctions() []any {
	switch v.rng.IntN(6) {
	case 0, 1:
		return categoryPage(v.id, v.market.Categories[v.rng.IntN(len(v.market.Categories))].ID)
	case 2:
		return searchPage(v.id, searchQuery(v.rng))
	default:
		return productPage(v.id, productIDs(v.rng, v.market))
	}
}

// pageOf returns the auctions of a page: one for its listings and one for its banner.
func pageOf(user, slot string) (listings, banner map[string]any) {
	return map[string]any{"type": "listings", "slots": pageWinners, "device": "desktop", "opaqueUserId": user},
		map[string]any{"type": "banners", "slots": 1, "slotId": slot, "device": "desktop", "opaqueUserId": user}
}

func categoryPage(user, category string) []any {
	listings, banner := pageOf(user, CategorySlot)
	listings["category"] = map[string]any{"id": category}
	banner["category"] = listings["category"]
	return []any{listings, banner}
}

func searchPage(user, query string) []any {
	listings, banner := pageOf(user, SearchSlot)
	listings["searchQuery"], banner["searchQuery"] = query, query
	return []any{listings, banner}
}

func productPage(user string, ids []string) []any {
	listings, banner := pageOf(user, HomeSlot)
	listings["products"] = map[string]any{"ids": ids}
	return []any{listings, banner}
}

// searchQuery returns what a shopper searches for.
func searchQuery(rng *rand.Rand) string {
	things := strings.Split(departments[rng.IntN(len(departments))].things, ",")
	return strings.ToLower(adjectives[rng.IntN(len(adjectives))] + " " + things[rng.IntN(len(things))])
}

// productIDs returns the ids of a page of products.
func productIDs(rng *rand.Rand, m *Market) []string {
	page := make([]string, pageIDs)
	for i := range page {
		u := rng.Float64()
		at := int(u * u * float64(len(m.Products)))
		page[i] = m.Products[min(at, len(m.Products)-1)].ID
	}
	return page
}

func (v *visitor) event(members map[string]any) map[string]any {
	v.seq++
	members["id"] = fmt.Sprintf("%s-%d-%d", v.id, time.Now().UnixNano(), v.seq)
	members["occurredAt"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	members["opaqueUserId"], members["deviceType"] = v.id, deviceOf(v.id)
	return members
}

// deviceOf returns the device of a shopper, who always uses the same one: three of five have a telephone.
func deviceOf(user string) string {
	if user[len(user)-1]%5 < 3 {
		return "mobile"
	}
	return "desktop"
}

const answerBytesMax = 1 << 20 // BOUND: an answer to a page is a few kilobytes.

func (v *visitor) post(ctx context.Context, path string, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.base+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+v.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := v.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below.
	got, err := io.ReadAll(io.LimitReader(resp.Body, answerBytesMax))
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s answered %d: %s", path, resp.StatusCode, got)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(got, answer)
}
