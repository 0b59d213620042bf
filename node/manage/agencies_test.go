package manage_test

import (
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// TestAgencyAreas: the campaigns of agencies are served under every configured name, and no service loses its own.
func TestAgencyAreas(t *testing.T) {
	w := managetest.NewWith(t, manage.Config{AgencyAreas: []string{"brands", "agency"}})
	for _, area := range []string{"brands", "agency", "toppie"} {
		if rec := call(w, "GET", "/public/v1/"+area+"/campaigns", "management", ""); rec.Code != 200 {
			t.Errorf("%s: %d %s", area, rec.Code, rec.Body)
		}
	}
	if _, err := manage.New(manage.Config{AgencyAreas: []string{"assets"}}, manage.Deps{}); err == nil || !strings.Contains(err.Error(), "management.agency_areas") {
		t.Errorf("assets is the name of a service: %v", err)
	}
}

// TestWebhooksOfAllEntryPoints: webhooks are notified of campaigns, whichever operations created, changed and deleted them.
func TestWebhooksOfAllEntryPoints(t *testing.T) {
	w := managetest.New(t)
	do := func(method, path, key, body string, want int) string {
		t.Helper()
		rec := call(w, method, "/public/v1/"+path, key, body)
		if rec.Code != want {
			t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
		}
		_, id, _ := strings.Cut(rec.Body.String(), `d":"`)
		return id[:min(36, len(id))]
	}
	do("PUT", "catalog-search-service/catalogs/vendors", "management", `{"vendors":[{"id":"nobody","name":"V"}]}`, 200)
	do("PUT", "catalog-search-service/catalogs/products", "management", `{"products":[{"id":"p","name":"P","vendors":["nobody"],"categories":[]}]}`, 200)
	for _, channel := range []string{"campaign:create", "campaign:update", "campaign:delete"} {
		do("POST", "webhooks/webhooks", "management", `{"url":"https://example.com/","channel":"`+channel+`"}`, 201)
	}
	for name, c := range map[string]struct{ key, path, query, body string }{
		"agency": {"management", "toppie/campaigns", "?vendor_id=nobody", `{"name":"C","budget":60,"targets":[{"type":"product","id":"p"}],"targetRoas":2,"startDate":"2026-03-18T00:00:00Z"}`},
		"dialog": {"modal", "modal-service/vendors/nobody/campaigns", "", `{"name":"C","budget":{"amount":60},"bids":[{"target":{"type":"product","id":"p"}}]}`},
	} {
		before := notices(t, w)
		id := do("POST", c.path+c.query, c.key, c.body, map[string]int{"agency": 201, "dialog": 200}[name])
		do("PATCH", c.path+"/"+id, c.key, `{"name":"D"}`, 200)
		do("DELETE", c.path+"/"+id, c.key, "", map[string]int{"agency": 204, "dialog": 200}[name])
		if got := notices(t, w) - before; got != 3 {
			t.Errorf("%s: %d notifications, want one for each change", name, got)
		}
	}
	if log := w.Log(); log != "" {
		t.Error(log)
	}
}

func notices(t *testing.T, w *managetest.Environment) int {
	t.Helper()
	w.Notices().Round(t.Context())
	all, err := w.Store.Tenant(managetest.Main).DueTasks(t.Context(), store.TaskDelivery, 100)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
