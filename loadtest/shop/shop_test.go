package shop_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

func TestAmounts(t *testing.T) {
	for text, want := range map[string]shop.Micros{
		"0": 0, "12": 12_000_000, "12.5": 12_500_000, "-0.25": -250_000, "0.000001": 1, "1.2300000": 1_230_000,
	} {
		if got, err := shop.ParseMajor(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	if got, err := shop.ParseMinor("1234.5"); err != nil || got != 12_345_000 {
		t.Errorf("1234.5 minor units are %d, %v", got, err)
	}
	for _, text := range []string{"", ".", "1.", ".5", "1e3", "+1", "--1", "1.0000001", "99999999999999", "1,5", " 1"} {
		if got, err := shop.ParseMajor(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
	if got := shop.Micros(-1_234_567).String(); got != "-1.234567" {
		t.Errorf("printed %s", got)
	}
}

// recordingServer answers from a table of "METHOD path" and keeps the requests that it got.
type recordingServer struct {
	answers map[string]string
	sent    []string
	limited int // How many requests it answers 429 first.
}

func (r *recordingServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	if r.limited > 0 {
		r.limited--
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	call := req.Method + " " + strings.TrimPrefix(req.URL.Path, "/public/v1")
	r.sent = append(r.sent, call+"?"+req.URL.RawQuery+" "+string(body))
	answer, ok := r.answers[call]
	if !ok || req.Header.Get("Authorization") != "Bearer key" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = io.WriteString(w, answer)
}

func serve(t *testing.T, r *recordingServer) *shop.Client {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return shop.New(server.URL, "key")
}

func TestFillSendsTheWholeMarket(t *testing.T) {
	m := traffic.NewMarket(traffic.MarketSpec{Products: 1_200, Vendors: 2, Categories: 3, Campaigns: 3, BidsPerCampaign: 4}, 1)
	r := &recordingServer{answers: map[string]string{
		"PUT /catalog-search-service/catalogs/categories":   "{}",
		"PUT /catalog-search-service/catalogs/vendors":      "{}",
		"PUT /catalog-search-service/catalogs/products":     "{}",
		"POST /billing-service/vendors/vendor-0000/balance": `{"result":true}`,
		"POST /billing-service/vendors/vendor-0001/balance": `{"result":true}`,
		"POST /campaign-service/campaigns":                  `{"campaignId":"c"}`,
	}}
	campaigns, err := serve(t, r).Fill(t.Context(), m, shop.Terms{BudgetMinor: 700, DepositMinor: 123_405}, "run")
	if err != nil || len(campaigns) != 3 {
		t.Fatalf("%v %v", campaigns, err)
	}
	if len(r.sent) != 1+1+3+2+3 { // 1,200 products are three requests of at most 500.
		t.Fatalf("%d requests:\n%.2000s", len(r.sent), strings.Join(r.sent, "\n"))
	}
	if want := `POST /billing-service/vendors/vendor-0001/balance? {"balance":1234.05}`; r.sent[6] != want {
		t.Errorf("sent %s, want %s", r.sent[6], want)
	}
	last := r.sent[len(r.sent)-1]
	var body struct {
		ChargeType string
		Budget     struct {
			Amount int64
			Type   string
		}
		Bids []struct {
			Target struct{ Type, ID string }
			Amount int64
		}
	}
	_, members, _ := strings.Cut(last, "{")
	if err := json.Unmarshal([]byte("{"+members), &body); err != nil {
		t.Fatal(err)
	}
	if body.ChargeType != "CPC" || body.Budget.Amount != 700 || body.Budget.Type != "total" || len(body.Bids) != 4 ||
		body.Bids[0].Target.Type != "product" || body.Bids[0].Amount < 1 || !strings.Contains(last, "vendor_id=vendor-0000") {
		t.Errorf("sent %s", last)
	}
}

func TestRateLimitIsWaitedFor(t *testing.T) {
	r := &recordingServer{limited: 1, answers: map[string]string{"GET /billing-service/vendors/v/balance": `{"balance":12.34,"currencyCode":"EUR"}`}}
	begin := time.Now()
	balance, err := serve(t, r).Balance(t.Context(), "v")
	if err != nil || balance != 12_340_000 {
		t.Fatalf("%v %v", balance, err)
	}
	if waited := time.Since(begin); waited < time.Second {
		t.Errorf("asked again after %v, was told to wait 1 s", waited)
	}
}

func TestRefusalIsAnErrorWithItsStatus(t *testing.T) {
	_, err := serve(t, &recordingServer{}).Balance(t.Context(), "nobody")
	if status, ok := errors.AsType[*shop.StatusError](err); !ok || status.Status != http.StatusNotFound {
		t.Fatalf("%v", err)
	}
}

func TestCampaignsReadsAllPages(t *testing.T) {
	page := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		page++
		if page == 1 {
			_, _ = io.WriteString(w, `{"campaigns":[{"campaignId":"a","budget":null},{"campaignId":"b","budget":{"amount":7,"amountUsed":3}}],"hasMore":true}`)
			return
		}
		if req.URL.Query().Get("offset") != "2" {
			t.Errorf("asked for %s", req.URL.RawQuery)
		}
		_, _ = io.WriteString(w, `{"campaigns":[{"campaignId":"c"}],"hasMore":false}`)
	}))
	defer server.Close()
	all, err := shop.New(server.URL, "key").Campaigns(t.Context())
	if err != nil || len(all) != 3 || all[0].Budget != nil || all[1].Budget.AmountUsed != 3 {
		t.Fatalf("%+v %v", all, err)
	}
}

func TestCompleteReportWaitsForTheWatermark(t *testing.T) {
	accepted := time.Now()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		through := accepted.Add(-time.Second)
		if asked == 3 {
			through = accepted.Add(time.Second)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"completeThrough": through, "impressions": map[string]any{"total": 1, "charged": 0, "adSpentDecimal": "0.1"},
			"clicks": map[string]any{"total": asked, "charged": 1, "adSpentDecimal": "2"},
		})
	}))
	defer server.Close()
	r, err := shop.New(server.URL, "key").CompleteReport(t.Context(), "c", accepted)
	if err != nil || r.Clicks.Total != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	if spent, err := r.Spent(); err != nil || spent != 21_000 {
		t.Errorf("spent %v %v", spent, err)
	}
}
