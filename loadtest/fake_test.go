package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a simple node: it has one campaign, all requested products win, and the first click on a token costs one minor unit. Tests switch
// its faults on one by one, to see that the generator finds them.
type fake struct {
	mu          sync.Mutex
	requests    int
	tokens      int
	events      map[string]bool // array/id.
	clicked     map[string]bool
	impressions int64
	clicks      int64
	charged     int64

	lose      int  // Every nth event body is acknowledged and forgotten.
	unknownIn int  // Every nth event body is answered 503; every other one of these was applied.
	dropIn    int  // Every nth event body is applied and its connection cut without an answer.
	double    bool // A repeated event counts again.
	strange   bool // Auctions answer with a winner nobody asked for.
	adless    bool // Only listings of products have winners.
	delay     time.Duration

	// oldReports is how many readings of the marketplace's report have the clicks of an earlier one, before one has those of
	// now; below 0, all but the first fail.
	oldReports int
	reports    int
	oldClicks  int64

	changes int                      // Of the campaign.
	metrics func(reading int) string // The metrics at each reading, counted from 1.
	read    int
}

func startFake(t *testing.T, f *fake) *httptest.Server {
	t.Helper()
	f.events, f.clicked = map[string]bool{}, map[string]bool{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server
}

// budgetMax is the highest budget that the interface allows, and the one of the campaign.
const budgetMax = 20_000_000_000

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	time.Sleep(f.delay)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch path := strings.TrimPrefix(r.URL.Path, "/public/v1"); {
	case path == "/metrics" && f.metrics != nil:
		f.read++
		answer(w, 200, f.metrics(f.read))
	case strings.HasPrefix(path, "/v2/auctions"):
		f.auction(w, body)
	case path == "/v2/events":
		f.report(w, body)
	case path == "/campaign-service/campaigns/c" && r.Method == http.MethodPatch:
		var change struct{ Budget struct{ Amount int64 } }
		if err := json.Unmarshal(body, &change); err != nil || change.Budget.Amount < 1 || change.Budget.Amount >= budgetMax {
			answer(w, 422, `{}`)
			return
		}
		f.changes++
		answer(w, 200, `{"campaignId":"c"}`)
	case path == "/campaign-service/campaigns" && r.Method == http.MethodGet:
		answer(w, 200, fmt.Sprintf(`{"campaigns":[{"campaignId":"c","budget":{"amount":%d,"amountUsed":0}}],"hasMore":false}`, budgetMax))
	case path == "/campaign-service/campaigns":
		answer(w, 201, `{"campaignId":"c"}`)
	case path == "/reporting-service/campaigns/c":
		answer(w, 200, fmt.Sprintf(`{"completeThrough":%q,"impressions":{"total":%d,"charged":0,"adSpentDecimal":"0"},
			"clicks":{"total":%d,"charged":%d,"adSpentDecimal":"%d"}}`,
			time.Now().Add(time.Minute).Format(time.RFC3339Nano), f.impressions, f.clicks, f.charged, f.charged))
	case path == "/reporting-service/marketplace":
		f.marketplaceReport(w)
	default: // Catalog and deposits.
		answer(w, 200, `{}`)
	}
}

func (f *fake) marketplaceReport(w http.ResponseWriter) {
	if f.reports++; f.oldReports < 0 && f.reports > 1 {
		answer(w, 500, `{}`)
		return
	}
	if f.oldReports <= 0 || f.reports%(f.oldReports+1) == 1 {
		f.oldClicks = f.clicks
	}
	answer(w, 200, fmt.Sprintf(`{"completeThrough":%q,"impressions":{"adSpentDecimal":"0"},"clicks":{"total":%d,"adSpentDecimal":"0"}}`,
		time.Now().Format(time.RFC3339Nano), f.oldClicks))
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (f *fake) auction(w http.ResponseWriter, body []byte) {
	var req struct {
		Auctions []struct {
			Type     string
			Slots    int
			Products struct{ IDs []string }
		}
	}
	if json.Unmarshal(body, &req) != nil {
		answer(w, 400, `{"errCode":"invalid_json"}`)
		return
	}
	var results []string
	for _, a := range req.Auctions {
		var winners []string
		ids, asset := a.Products.IDs, ""
		if len(ids) == 0 && !f.adless {
			ids = []string{"x", "y"}
		}
		if a.Type == "banners" {
			asset = `,"asset":[{"url":"https://images.example/x.png"}]`
		}
		for i, id := range ids[:min(a.Slots, len(ids))] {
			if f.strange {
				id = "nobody-asked"
			}
			f.tokens++
			winners = append(winners, fmt.Sprintf(`{"rank":%d,"type":"product","id":%q,"resolvedBidId":"t%d","campaignId":"c"%s}`, i+1, id, f.tokens, asset))
		}
		results = append(results, fmt.Sprintf(`{"resultType":%q,"winners":[%s],"error":false}`, a.Type, strings.Join(winners, ",")))
	}
	answer(w, 201, `{"results":[`+strings.Join(results, ",")+`]}`)
}

func (f *fake) report(w http.ResponseWriter, body []byte) {
	type event struct{ ID, ResolvedBidID string }
	var req struct{ Impressions, Clicks, Purchases, Pageviews []event }
	if json.Unmarshal(body, &req) != nil {
		answer(w, 400, `{"errCode":"invalid_json"}`)
		return
	}
	f.requests++
	hit := func(n int) bool { return n > 0 && f.requests%n == 0 }
	unknown := hit(f.unknownIn)
	if !hit(f.lose) && (!unknown || f.requests/f.unknownIn%2 == 0) {
		for _, e := range req.Impressions {
			if f.fresh("i/" + e.ID) {
				f.impressions++
			}
		}
		for _, e := range req.Clicks {
			if f.fresh("c/" + e.ID) {
				f.clicks++
				if !f.clicked[e.ResolvedBidID] {
					f.clicked[e.ResolvedBidID] = true
					f.charged++
				}
			}
		}
	}
	switch {
	case hit(f.dropIn):
		panic(http.ErrAbortHandler)
	case unknown:
		answer(w, 503, `{"errCode":"service_unavailable"}`)
	default:
		answer(w, 200, `{}`)
	}
}

// fresh reports whether an event was not seen before, and remembers it.
func (f *fake) fresh(key string) bool {
	seen := f.events[key]
	f.events[key] = true
	return !seen || f.double
}
