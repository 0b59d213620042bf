package manage_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

const dialog = "/public/v1/modal-service/vendors/nobody/default-budget"

// TestDialogInBrowsers: pages of every shop may call the vendors' dialog, errors included, unless origins are configured;
// those that may call the whole management API may call it too.
func TestDialogInBrowsers(t *testing.T) {
	const shop = "https://shop.test"
	for _, c := range []struct {
		pages, origins []string
		want           string
	}{
		{nil, nil, "*"},
		{[]string{"*"}, []string{shop}, "*"},
		{[]string{shop}, nil, shop},
		{[]string{"https://elsewhere.test"}, nil, ""},
		{[]string{"https://elsewhere.test"}, []string{shop}, shop},
	} {
		w := managetest.NewWith(t, manage.Config{PageOrigins: c.pages, CORSOrigins: c.origins})
		preflight := call(w, "OPTIONS", dialog, "", "", "Origin", shop, "Access-Control-Request-Headers", "authorization,content-type,x-ua")
		for what, rec := range map[string]interface {
			Get(string) string
		}{
			"preflight": preflight.Header(),
			"refusal":   call(w, "GET", dialog, "", "", "Origin", shop).Header(),
			"answer":    call(w, "GET", dialog, "modal", "", "Origin", shop).Header(),
		} {
			if got := rec.Get("Access-Control-Allow-Origin"); got != c.want || (rec.Get("Vary") == "Origin") == (c.want == "*") {
				t.Errorf("%+v, %s: allowed %q, Vary %q", c, what, got, rec.Get("Vary"))
			}
		}
		if preflight.Code != 204 || preflight.Header().Get("Access-Control-Allow-Headers") != "authorization,content-type,x-ua" && c.want != "" {
			t.Errorf("%+v: preflight %d %v", c, preflight.Code, preflight.Header())
		}
	}
}

// TestDialogEndsWithTheKey: a token is valid as long as the key that requested it, and counts towards the key's rate limit.
func TestDialogEndsWithTheKey(t *testing.T) {
	w := managetest.NewWith(t, manage.Config{RateManagement: 3})
	rec := call(w, "POST", "/public/v1/key-service/keys", "management", `{"kind":"management","name":"of the shop"}`)
	var made struct{ Key, KeyID string }
	if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil || rec.Code != 201 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	w.Keys["shop"] = made.Key
	w.Keys["page"] = w.ModalToken("shop", "nobody")
	for i, want := range []int{404, 404, 404, 429} { // The requests are valid, except that the vendor is unknown.
		if rec := call(w, "GET", dialog, "page", ""); rec.Code != want {
			t.Errorf("request %d: %d %s, want %d", i, rec.Code, rec.Body, want)
		}
	}
	w.Advance(3 * time.Second)
	if rec := call(w, "DELETE", "/public/v1/key-service/keys/"+made.KeyID, "management", ""); rec.Code != 204 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if rec := call(w, "GET", dialog, "page", ""); rec.Code != 401 {
		t.Errorf("after its key was revoked: %d %s", rec.Code, rec.Body)
	}
}
