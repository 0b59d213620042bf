package manage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/campaign"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// refusal is a request that every operation refuses in the same way.
type refusal struct {
	name    string
	method  string // Instead of the operation's own.
	key     string
	headers []string
	body    string // Only sent to operations that take one.
	status  int
	errCode string
}

var deep = strings.Repeat("[", 33) + strings.Repeat("]", 33)

// refusals hold for every operation under /public/v1.
var refusals = []refusal{
	{name: "no key", status: 401, errCode: "invalid_api_key"},
	{name: "no bearer", key: "Basic Zm9v", status: 401, errCode: "invalid_api_key"},
	{name: "malformed key", key: "Bearer gavel_mgt_", status: 401, errCode: "invalid_api_key"},
	{name: "unknown key", key: "Bearer gavel_mgt_AAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", status: 401, errCode: "invalid_api_key"},
	{name: "expired key", key: "expired", status: 401, errCode: "invalid_api_key"},
	{name: "auction key", key: "auction", status: 403, errCode: "invalid_api_key"},
	{name: "suspended marketplace", key: "suspended", status: 403, errCode: "invalid_marketplace"},
	{name: "method", method: "TRACE", key: "management", status: 405, errCode: "method_not_allowed"},
	{name: "method without key", method: "TRACE", status: 405, errCode: "method_not_allowed"},
}

// bodyRefusals hold for every operation under /public/v1 that takes a body.
var bodyRefusals = []refusal{
	{name: "empty", body: "", status: 400, errCode: "empty_request"},
	{name: "blank", body: " \n\t", status: 400, errCode: "empty_request"},
	{name: "broken", body: `{"a":`, status: 400, errCode: "invalid_json"},
	{name: "trailing bytes", body: `{} {}`, status: 400, errCode: "invalid_json"},
	{name: "trailing comma", body: `{"a":1,}`, status: 400, errCode: "invalid_json"},
	{name: "bad UTF-8", body: "{\"a\":\"\xff\"}", status: 400, errCode: "invalid_json"},
	{name: "half a surrogate", body: `{"a":"\ud800"}`, status: 400, errCode: "invalid_json"},
	{name: "NaN", body: `{"a":NaN}`, status: 400, errCode: "invalid_json"},
	{name: "deep", body: deep, status: 400, errCode: "bad_request"},
	{name: "deep in an unknown member", body: `{"unknown":` + deep[1:len(deep)-1] + `}`, status: 400, errCode: "bad_request"},
	{name: "very deep and broken", body: strings.Repeat("[", 100_000), status: 400, errCode: "bad_request"},
	{name: "array", body: `[]`, status: 422, errCode: "detail"},
	{name: "string", body: `"x"`, status: 422, errCode: "detail"},
	{name: "null", body: `null`, status: 422, errCode: "detail"},
	{name: "form", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, body: "a=b", status: 415, errCode: "unsupported_media_type"},
	{name: "text", headers: []string{"Content-Type", "text/json"}, body: "{}", status: 415, errCode: "unsupported_media_type"},
	{name: "brotli", headers: []string{"Content-Encoding", "br"}, body: "x", status: 415, errCode: "unsupported_media_type"},
	{name: "no gzip", headers: []string{"Content-Encoding", "gzip"}, body: "{}", status: 400, errCode: "bad_request"},
	{name: "too large", body: `{"a":"` + strings.Repeat("x", 8<<20) + `"}`, status: 413, errCode: "payload_too_large"},
}

func TestRefusals(t *testing.T) {
	w := managetest.New(t)
	for _, o := range operations(t) {
		if o.v2() {
			continue
		}
		for _, c := range refusals {
			refuse(t, w, &o, c)
		}
		if !takesBody(&o) {
			continue
		}
		for _, c := range bodyRefusals {
			c.key = "management"
			refuse(t, w, &o, c)
		}
	}
	if log := w.Log(); log != "" {
		t.Errorf("refusals are no defects, but the log says:\n%.2000s", log)
	}
}

// takesBody reports whether the body is required. Deletions have an optional body, so an empty one is not refused there.
func takesBody(o *operation) bool { return o.body() != nil && o.op.RequestBody.Value.Required }

func refuse(t *testing.T, w *managetest.Environment, o *operation, c refusal) {
	t.Helper()
	method := o.method
	if c.method != "" {
		method = c.method
	}
	rec := call(w, method, o.target(), o.key(c.key), c.body, c.headers...)
	if rec.Code != c.status || errCode(t, rec) != c.errCode {
		t.Errorf("%s, %s: %d %.300s; want %d %s", o.id, c.name, rec.Code, rec.Body, c.status, c.errCode)
	}
	commonHeaders(t, o, rec)
	if authenticate := rec.Header().Get("WWW-Authenticate"); (rec.Code == 401) != (authenticate == `Bearer realm="gavel"`) {
		t.Errorf("%s, %s: %d with WWW-Authenticate %q", o.id, c.name, rec.Code, authenticate)
	}
	if allow := rec.Header().Get("Allow"); (rec.Code == 405) != strings.Contains(allow, o.method) {
		t.Errorf("%s, %s: %d with Allow %q", o.id, c.name, rec.Code, allow)
	}
}

// commonHeaders checks the headers of every answer.
func commonHeaders(t *testing.T, o *operation, rec *httptest.ResponseRecorder) {
	t.Helper()
	h := rec.Header()
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if h.Get(name) != want {
			t.Errorf("%s: %d with %s %q", o.id, rec.Code, name, h.Get(name))
		}
	}
	if len(h.Get("X-Request-Id")) != 36 {
		t.Errorf("%s: no request id was minted: %q", o.id, h.Get("X-Request-Id"))
	}
	if rec.Code != http.StatusNoContent && (h.Get("Content-Type") != "application/json" || h.Get("Content-Length") != strconv.Itoa(rec.Body.Len())) {
		t.Errorf("%s: %d is %q of length %q, has %d bytes", o.id, rec.Code, h.Get("Content-Type"), h.Get("Content-Length"), rec.Body.Len())
	}
	limited := rec.Code != http.StatusMethodNotAllowed && rec.Code != http.StatusNotFound || h.Get("X-RateLimit-Limit") != ""
	if limited && (h.Get("X-RateLimit-Limit") == "" || h.Get("X-RateLimit-Remaining") == "" || h.Get("X-RateLimit-Reset") == "") {
		t.Errorf("%s: %d without rate limit headers: %v", o.id, rec.Code, h)
	}
	origins := map[bool]string{true: "*"}[strings.HasPrefix(o.path, campaign.DialogBase)]
	if got := h.Get("Access-Control-Allow-Origin"); got != origins {
		t.Errorf("%s: management keys do not belong in browsers, the vendors' dialog does, and CORS is %q", o.id, got)
	}
}

// TestRepeatedMembers: a repeated member that the operation knows is refused, also when the second is in other
// case. Unknown members may be repeated.
func TestRepeatedMembers(t *testing.T) {
	w := managetest.New(t)
	for _, o := range operations(t) {
		if o.v2() || o.body() == nil {
			continue
		}
		for name := range o.body().Properties {
			for _, second := range []string{name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
				body := fmt.Sprintf(`{"%s":null,"%s":null}`, name, second)
				if rec := call(w, o.method, o.target(), o.key("management"), body); rec.Code != 400 || errCode(t, rec) != "bad_request" {
					t.Errorf("%s accepts %s: %d %.200s", o.id, body, rec.Code, rec.Body)
				}
			}
		}
		if o.id == "explainAuctions" {
			continue // It accepts bodies of /v2, and these lack their auctions.
		}
		if rec := call(w, o.method, o.target(), o.key("management"), `{"zzz":1,"zzz":2}`); rec.Code == 400 {
			t.Errorf("%s refuses unknown members: %s", o.id, rec.Body)
		}
	}
}

// TestOtherCase: a name in another case is an unknown member, so it sets nothing, and the answer says which one was meant.
func TestOtherCase(t *testing.T) {
	w := managetest.New(t)
	rec := call(w, "POST", "/public/v1/key-service/keys", "management", `{"KIND":"auction","name":"x","ſource":1}`)
	want := violation{[]string{"body", "KIND"}, "is not known; did you mean kind?", "unknown_member"}
	if got := violations(t, rec); len(got) != 1 || !slices.Equal(got[0].Loc, want.Loc) || got[0].Type != want.Type {
		t.Errorf("%d %s; want %v", rec.Code, rec.Body, want)
	}
}

// TestUnknownResources: every operation on a resource that does not exist answers so, and gives the same answer, byte for byte, for
// a resource of another tenant.
func TestUnknownResources(t *testing.T) {
	w := managetest.New(t)
	put := func(path, body string) {
		t.Helper()
		if rec := call(w, "PUT", "/public/v1/catalog-search-service/catalogs/"+path, "management", body); rec.Code != 200 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	put("vendors", `{"vendors":[{"id":"mine","name":"V"}]}`)
	put("products", `{"products":[{"id":"mine","name":"P","vendors":["mine"],"categories":[]}]}`)
	put("categories", `{"categories":[{"id":"mine","name":"C"}]}`)
	for _, o := range operations(t) {
		if o.v2() || !strings.Contains(o.path, "{") || o.id == "eraseUser" { // Every text may be the id of a user.
			continue
		}
		body := ""
		if o.body() != nil {
			body = encode(t, example(o.body()))
		}
		unknown := call(w, o.method, o.target(), o.key("other"), body)
		if code := errCode(t, unknown); unknown.Code != 404 || (code != "resource_not_found" && code != "invalid_vendor") {
			t.Errorf("%s of nobody: %d %s", o.id, unknown.Code, unknown.Body)
		}
		key := o.key("other")
		if key != "other" {
			w.Keys["theirs"] = w.ModalToken("other", "mine") // Tokens are for the vendor of the path.
			key = map[bool]string{true: "theirs", false: key}[strings.Contains(o.path, "{vendor_id}")]
		}
		foreign := call(w, o.method, strings.ReplaceAll(o.target(), "/nobody", "/mine"), key, body)
		if foreign.Code != unknown.Code || foreign.Body.String() != unknown.Body.String() {
			t.Errorf("%s tells another tenant's resource from none: %d %s", o.id, foreign.Code, foreign.Body)
		}
	}
}
