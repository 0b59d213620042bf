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
	var impressions, clicks, purchases []any
	for _, result := range got.Results {
		for rank, w := range result.Winners {
			v.counts.Winners.Add(1)
			impressions = append(impressions, v.event(map[string]any{"resolvedBidId": w.ResolvedBidID}))
			if v.rng.Float64() >= topClickRate*rankExposure[min(rank, pageWinners-1)] {
				continue
			}
			clicks = append(clicks, v.event(map[string]any{"resolvedBidId": w.ResolvedBidID, "clickType": "product"}))
			if w.Type == "product" && v.rng.Float64() < buyRate {
				items := []any{map[string]any{"productId": w.ID, "quantity": 1 + v.rng.IntN(2)}}
				purchases = append(purchases, v.event(map[string]any{"items": items}))
			}
		}
	}
	if len(impressions) == 0 {
		return nil
	}
	body := map[string]any{"impressions": impressions, "clicks": clicks, "purchases": purchases}
	if err := v.post(ctx, "/v2/events", body, nil); err != nil {
		return err
	}
	v.counts.Impressions.Add(int64(len(impressions)))
	v.counts.Clicks.Add(int64(len(clicks)))
	v.counts.Purchases.Add(int64(len(purchases)))
	return nil
}

// auctions returns an auction for a category in one case of three, for the results of a search in one of six, and
// otherwise for a page of products, in which popular ones are more likely; and an auction for the banner of that page.
func (v *visitor) auctions() []any {
	a := map[string]any{"type": "listings", "slots": pageWinners, "device": "desktop", "opaqueUserId": v.id}
	banner := map[string]any{"type": "banners", "slots": 1, "slotId": HomeSlot, "device": "desktop", "opaqueUserId": v.id}
	switch v.rng.IntN(6) {
	case 0, 1:
		c := v.market.Categories[v.rng.IntN(len(v.market.Categories))]
		a["category"] = map[string]any{"id": c.ID}
		banner["slotId"], banner["category"] = CategorySlot, a["category"]
	case 2:
		things := strings.Split(departments[v.rng.IntN(len(departments))].things, ",")
		a["searchQuery"] = strings.ToLower(adjectives[v.rng.IntN(len(adjectives))] + " " + things[v.rng.IntN(len(things))])
		banner["slotId"], banner["searchQuery"] = SearchSlot, a["searchQuery"]
	default:
		a["products"] = map[string]any{"ids": v.productIDs()}
	}
	return []any{a, banner}
}

// productIDs returns the ids of a page of products.
func (v *visitor) productIDs() []string {
	page := make([]string, pageIDs)
	for i := range page {
		u := v.rng.Float64()
		at := int(u * u * float64(len(v.market.Products)))
		page[i] = v.market.Products[min(at, len(v.market.Products)-1)].ID
	}
	return page
}

func (v *visitor) event(members map[string]any) map[string]any {
	v.seq++
	members["id"] = fmt.Sprintf("%s-%d-%d", v.id, time.Now().UnixNano(), v.seq)
	members["occurredAt"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	members["opaqueUserId"] = v.id
	return members
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
