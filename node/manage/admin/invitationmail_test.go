package admin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// TestInvitationEmails: an invitation gets one email, which is tried again while the server fails; a renewal within ten minutes gets
// none, and an email that is sent or permanently refused is not tried again.
func TestInvitationEmails(t *testing.T) {
	w := managetest.New(t)
	w.Store.SendsMail = true
	do := func(method, path, body string) string {
		t.Helper()
		r := httptest.NewRequest(method, "/public/v1/"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		if rec.Code != 200 {
			t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
		}
		return rec.Body.String()
	}
	var sent []string
	var failure error
	permanent := false
	worker := jobs.MailWorker(func(_ context.Context, _ store.Tenant, i *store.Invitation) (bool, error) {
		sent = append(sent, i.Email)
		return permanent, failure
	}, slog.New(slog.DiscardHandler))
	round := func(want int) {
		t.Helper()
		sent = nil
		r := w.Runner()
		for more := true; more; {
			more = r.Round(t.Context(), worker) > 0
		}
		if len(sent) != want {
			t.Errorf("sent %v, want %d emails", sent, want)
		}
	}
	const invite = `{"invites":[{"vendorId":"v1","vendorEmail":"a@example.com"}]}`
	do("PUT", "catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"V"}]}`)
	if body := do("POST", "invitation-service/invitations", invite); !strings.Contains(body, `"mail":{"status":"queued","attempts":0}`) {
		t.Error(body)
	}
	failure = errors.New("451 later")
	round(1)
	round(0) // The task is not due yet.
	w.Advance(time.Minute)
	failure = nil
	round(1)
	if body := do("GET", "invitation-service/invitations", ""); !strings.Contains(body, `"mail":{"status":"sent","attempts":2}`) {
		t.Error(body)
	}
	w.Advance(time.Minute)
	do("POST", "invitation-service/invitations", invite)
	round(0)
	w.Advance(10 * time.Minute)
	do("POST", "invitation-service/invitations", invite)
	failure, permanent = fmt.Errorf("10.0.0.9:25: %w", &textproto.Error{Code: 550, Msg: "nobody at 10.0.0.9"}), true
	round(1)
	w.Advance(2 * time.Hour)
	round(0)
	if body := do("GET", "invitation-service/invitations", ""); !strings.Contains(body, `"status":"failed","attempts":1,"error":"the mail server answered 550"`) {
		t.Error(body)
	}
}
