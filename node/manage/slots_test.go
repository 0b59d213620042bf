package manage_test

import (
	"net/http"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestSlotsOfAMarketplace: one that has as many requests under way as connections are free gets 503, and all others are served.
func TestSlotsOfAMarketplace(t *testing.T) {
	w := managetest.New(t)
	const campaigns = "/public/v1/campaign-service/campaigns"
	for w.Slots.Take(managetest.Main) {
	}
	rec := call(w, http.MethodGet, campaigns, "management", "")
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") != "1" {
		t.Errorf("without a free slot: %d, Retry-After %q: %s", rec.Code, rec.Header().Get("Retry-After"), rec.Body)
	}
	if rec := call(w, http.MethodGet, campaigns, "other", ""); rec.Code != http.StatusOK {
		t.Errorf("another marketplace: %d %s", rec.Code, rec.Body)
	}
	w.Slots.Free(managetest.Main)
	for range 3 { // Each request frees its slot.
		if rec := call(w, http.MethodGet, campaigns, "management", ""); rec.Code != http.StatusOK {
			t.Errorf("with a free slot: %d %s", rec.Code, rec.Body)
		}
	}
}
