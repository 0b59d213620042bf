package console_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// browser is a browser of the console: it keeps the cookie of its session.
type browser struct {
	testing.TB
	env     *managetest.Environment
	to      http.Handler
	cookie  *http.Cookie
	address string
	header  map[string]string
}

func newBrowser(t testing.TB, env *managetest.Environment) *browser {
	return &browser{TB: t, env: env, to: env, address: "192.0.2.1:1000", header: map[string]string{}}
}

// fresh is a browser of somebody else.
func (b *browser) fresh() *browser { return newBrowser(b.TB, b.env) }

// send sends a request and keeps the cookie of the answer.
func (b *browser) send(method, path, body string) *httptest.ResponseRecorder {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), method, path, strings.NewReader(body))
	r.RemoteAddr = b.address
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range b.header {
		r.Header.Set(name, value)
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	w := httptest.NewRecorder()
	b.to.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		b.cookie = c
		if c.MaxAge < 0 {
			b.cookie = nil
		}
	}
	return w
}

// must sends a request that has to be answered with a status, and returns the members of the answer.
func (b *browser) must(status int, method, path, body string) map[string]any {
	b.Helper()
	w := b.send(method, path, body)
	if w.Code != status {
		b.Fatalf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, status)
	}
	answer := map[string]any{}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			b.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return answer
}

const (
	password = "correct horse battery"
	keys     = "/console/api/v1/key-service/keys"
)

// setUp makes the first admin with the link that a start prints, and returns the admin's browser.
func setUp(t testing.TB, env *managetest.Environment) *browser {
	t.Helper()
	link, err := env.Console.SetupLink()
	if err != nil {
		t.Fatal(err)
	}
	_, token, found := strings.Cut(link, "/console/setup#token=")
	if !found {
		t.Fatalf("the link is %q", link)
	}
	b := newBrowser(t, env)
	b.must(200, "POST", "/console/api/setup", `{"token":"`+token+`","email":"ada@example.com","name":"Ada","password":"`+password+`"}`)
	return b
}

// The first admin is made once, with the link; the session that follows opens the operations of the API, and its end closes them.
func TestTheFirstAdminSignsInAndUsesTheAPI(t *testing.T) {
	env := managetest.New(t)
	visitor := newBrowser(t, env)
	if a := visitor.must(401, "GET", "/console/api/session", ""); a["errCode"] != "not_signed_in" || a["needsAdmin"] != true {
		t.Fatalf("without an admin: %v", a)
	}
	visitor.must(401, "POST", "/console/api/setup", `{"token":"x","email":"eve@example.com","name":"Eve","password":"`+password+`"}`)
	ada := setUp(t, env)
	if link, err := env.Console.SetupLink(); link != "" || err != nil {
		t.Errorf("with an admin there is a link: %q, %v", link, err)
	}
	if a := visitor.must(401, "GET", "/console/api/session", ""); a["needsAdmin"] != false {
		t.Errorf("with an admin: %v", a)
	}
	user := ada.must(200, "GET", "/console/api/session", "")["user"].(map[string]any)
	if user["email"] != "ada@example.com" || user["role"] != "admin" || user["name"] != "Ada" {
		t.Errorf("signed in is %v", user)
	}
	made := ada.must(201, "POST", keys, `{"kind":"auction","name":"from the console"}`)
	if !strings.HasPrefix(made["key"].(string), "gavel_auc_") {
		t.Errorf("the key is %v", made)
	}
	entries := ada.must(200, "GET", "/console/api/v1/audit-service/entries?operation=createKey", "")["entries"].([]any)
	if entry := entries[0].(map[string]any); entry["userEmail"] != "ada@example.com" || entry["keyId"] != "" {
		t.Errorf("the audit log says %v", entry)
	}
	visitor.must(401, "GET", keys, "")
	old := *ada
	ada.must(204, "DELETE", "/console/api/session", "")
	old.must(401, "GET", keys, "")
	ada.must(200, "POST", "/console/api/session", `{"email":"ADA@example.com","password":"`+password+`"}`)
	ada.must(200, "GET", keys, "")
}

// A key opens no path of the console, and a session no public path.
func TestASessionIsNoKey(t *testing.T) {
	env := managetest.NewWith(t, manage.Config{})
	ada := setUp(t, env)
	ada.must(401, "GET", "/public/v1/key-service/keys", "")
	key := newBrowser(t, env)
	key.header["Authorization"] = "Bearer " + env.Keys["management"]
	key.must(401, "GET", keys, "")
	key.must(200, "GET", "/public/v1/key-service/keys", "")
}
