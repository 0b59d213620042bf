package admin_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestAddressLength: an address of 255 characters is accepted, one of 256 is not.
func TestAddressLength(t *testing.T) {
	w := managetest.New(t)
	callUser(t, w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"V"}]}`, 200)
	for length, status := range map[int]int{255: 201, 256: 422} {
		const domain = "@example.com"
		email := strings.Repeat("a", length-len(domain)) + domain
		callUser(t, w, "POST", "/public/v1/user-service/advertiser-users", `{"email":"`+email+`","vendorIds":["v1"]}`, status)
	}
}

func callUser(t *testing.T, w *managetest.Environment, method, path, body string, status int) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	if rec.Code != status {
		t.Errorf("%s %s with %d bytes: %d %.200s, want %d", method, path, len(body), rec.Code, rec.Body, status)
	}
}
