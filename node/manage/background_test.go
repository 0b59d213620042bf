package manage_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard/model"
)

// TestLongRequestsTakeTurns: reports, explanations and forecasts wait for their turn. If it does not come in time, the marketplace's own
// running requests lead to 429, and those of others to 503; both say when to repeat. Other operations do not wait.
func TestLongRequestsTakeTurns(t *testing.T) {
	bounds := limits.SchedulerDefaults
	bounds.PerMarketplace, bounds.PerNode, bounds.Wait = 1, 2, 1500*time.Microsecond
	s := limits.NewScheduler(limits.SchedulerConfig{SchedulerLimits: bounds})
	w := managetest.NewBackground(t, manage.Config{}, s)
	campaign := created(t, w)
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		return rec
	}
	long := func(want int, code string) {
		t.Helper()
		const days = "?start_date=2026-03-01&end_date=2026-03-31"
		for _, o := range [][3]string{
			{"GET", "/public/v1/reporting-service/marketplace" + days},
			{"GET", "/public/v1/reporting-service/marketplace/daily" + days},
			{"GET", "/public/v1/reporting-service/campaigns/" + campaign + days},
			{"GET", "/public/v1/reporting-service/interactions?start_date=2026-03-01T00:00:00Z&end_date=2026-03-31T00:00:00Z"},
			{"POST", "/public/v1/auctions/explain", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`},
			{"GET", "/public/v1/campaign-service/campaigns/" + campaign + "/forecast"},
		} {
			rec := ask(o[0], o[1], o[2])
			if rec.Code != want || !strings.Contains(rec.Body.String(), code) {
				t.Errorf("%s: %d %s, want %d", o[1], rec.Code, rec.Body, want)
			}
			if after := rec.Header().Get("Retry-After"); (after != "") != (want >= 400) || want >= 400 && after != "1" {
				t.Errorf("%s: Retry-After %q of a %d", o[1], after, rec.Code)
			}
		}
	}
	long(http.StatusOK, "")
	release := occupy(t, s, managetest.Main)
	long(http.StatusTooManyRequests, `"too_many_requests"`)
	if rec := ask("GET", "/public/v1/campaign-service/campaigns/"+campaign, ""); rec.Code != http.StatusOK {
		t.Errorf("another operation: %d %s", rec.Code, rec.Body)
	}
	release()
	for i := range uint16(2) {
		defer occupy(t, s, 100+i)()
	}
	long(http.StatusServiceUnavailable, `"service_unavailable"`)
	if n := s.Stats(limits.KindReport).Refused; n != 8 {
		t.Errorf("%d refused reports", n)
	}
}

// TestLongRequestsEndWithTheirClient: the report of a client that has disconnected reads nothing.
func TestLongRequestsEndWithTheirClient(t *testing.T) {
	w := managetest.NewBackground(t, manage.Config{}, limits.NewScheduler(limits.SchedulerConfig{SchedulerLimits: limits.SchedulerDefaults}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", "/public/v1/reporting-service/marketplace?start_date=2026-03-01&end_date=2026-03-31", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	if rec.Code != 499 || !strings.Contains(rec.Body.String(), "request_canceled") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// occupy runs a background request of a marketplace until it is released.
func occupy(t *testing.T, s *limits.Scheduler, marketplace uint16) (release func()) {
	t.Helper()
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		_ = s.Run(ctx, marketplace, limits.KindExplain, func(ctx context.Context) error {
			time.Sleep(2 * time.Millisecond) // Longer than a slice.
			cancel()
			_ = limits.WorkOf(ctx).Step(ctx) // From now on it is admitted, but has no turn.
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	return func() { close(end); <-ended }
}

func created(t *testing.T, w *managetest.Environment) string {
	t.Helper()
	c := &model.Campaign{VendorID: "v1", Name: "c", Type: "manual", Charge: model.CPC, Active: true, Status: model.Approved}
	if err := w.Store.Tenant(managetest.Main).CreateCampaign(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	return c.ID.String()
}
