package admin_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestManyInvites: 500 people are invited at once, 501 are not, and an address has at most 255 characters.
func TestManyInvites(t *testing.T) {
	w := managetest.New(t)
	callInvitation(t, w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"V"}]}`, 200)
	invites := func(n, length int) string {
		all := make([]string, n)
		for i := range all {
			const domain = "@example.com"
			name := fmt.Sprintf("%0*d", length-len(domain), i)
			all[i] = `{"vendorId":"v1","vendorEmail":"` + name + domain + `"}`
		}
		return `{"invites":[` + strings.Join(all, ",") + `]}`
	}
	const path = "/public/v1/invitation-service/invitations"
	body := callInvitation(t, w, "POST", path, invites(500, 255), 200)
	if n := strings.Count(body, `"pending"`); n != 500 {
		t.Errorf("%d of 500 invitations are pending", n)
	}
	callInvitation(t, w, "POST", path, invites(501, 20), 422)
	callInvitation(t, w, "POST", path, invites(1, 256), 422)
}

// TestInvitationsLastAsConfigured: invitations.ttl says how long, for new invitations and for renewed ones.
func TestInvitationsLastAsConfigured(t *testing.T) {
	w := managetest.New(t)
	w.Store.InvitationTTL = 90 * time.Minute
	callInvitation(t, w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"V"}]}`, 200)
	for range 2 {
		body := callInvitation(t, w, "POST", "/public/v1/invitation-service/invitations", `{"invites":[{"vendorId":"v1","vendorEmail":"ada@example.com"}]}`, 200)
		want := `"expiresAt":"` + w.Now().UTC().Add(90*time.Minute).Format("2006-01-02T15:04:05.000Z") + `"`
		if !strings.Contains(body, want) {
			t.Errorf("%s does not contain %s", body, want)
		}
	}
}

func callInvitation(t *testing.T, w *managetest.Environment, method, path, body string, status int) string {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	if rec.Code != status {
		t.Errorf("%s %s with %d bytes: %d %.200s, want %d", method, path, len(body), rec.Code, rec.Body, status)
	}
	return rec.Body.String()
}
