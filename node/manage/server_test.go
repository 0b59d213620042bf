package manage_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/serving"
)

const count = "/public/v1/catalog-search-service/catalogs/categories/count"

// TestPaths: both listeners have the same path rule, and never redirect. Each path is requested under /public/v1 and, with
// the same shape, under /v2; both must agree whether it is a path at all.
func TestPaths(t *testing.T) {
	w := managetest.New(t)
	for _, c := range []struct {
		shape string // "@" is the rest of a good path.
		found bool
	}{
		{"/@", true},
		{"//@", true},
		{"///@", true},
		{"/@?x=1", true},
		{"/@?next=/../..", true},
		{"/@/", false},
		{"/@//", false},
		{"/./@", false},
		{"/../@", false},
		{"/x/../@", false},
		{"/%2e/@", false},
		{"/%2e%2E/@", false},
		{"/.%2e/@", false},
		{"/@/.", false},
		{"/@/..", false},
		{"/@/%2e%2e", false},
		{"/@%00", false},
		{"/@/x", false},
		{"/x/@", false},
		{"http://elsewhere.test/@", true},
		{"http://elsewhere.test//@", true},
	} {
		path := strings.Replace(c.shape, "@", count[1:], 1)
		rec := call(w, "GET", path, "management", "")
		if want := map[bool]int{true: 200, false: 404}[c.found]; rec.Code != want {
			t.Errorf("GET %s: %d, want %d", path, rec.Code, want)
		}
		v2 := strings.Replace(c.shape, "@", "v2/events", 1)
		rec = call(w, "POST", v2, "auction", `{"clicks":[]}`)
		if want := map[bool]int{true: 200, false: 404}[c.found]; rec.Code != want {
			t.Errorf("POST %s: %d, want %d: the two rules differ", v2, rec.Code, want)
		}
	}
	for _, path := range []string{"/public/v1", "/public/v1/", "/public", "/Public/v1/key-service/keys", "/favicon.ico"} {
		if rec := call(w, "GET", path, "", ""); rec.Code != 404 || errCode(t, rec) != "resource_not_found" {
			t.Errorf("GET %s without a key: %d %s", path, rec.Code, rec.Body)
		}
	}
}

// TestListenersAgree: /v2 answers the bytes of the core, whatever is sent.
func TestListenersAgree(t *testing.T) {
	w := managetest.New(t)
	core := w.Core()
	for _, c := range []struct{ method, target, key, body, encoding string }{
		{"POST", "/v2/auctions", "auction", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`, ""},
		{"POST", "/v2/auctions", "auction", `{"auctions":[]}`, ""},
		{"POST", "//v2//auctions", "auction", `{`, ""},
		{"POST", "/v2/auctions/", "auction", `{}`, ""},
		{"POST", "/v2/auctions", "management", `{}`, ""},
		{"POST", "/v2/auctions", "", `{}`, ""},
		{"POST", "/v2/auctions", "auction", "", ""},
		{"POST", "/v2/auctions", "auction", "x", "gzip"},
		{"POST", "/v2/auctions", "auction", strings.Repeat(" ", 4<<20), ""},
		{"POST", "/v2/auctions", "auction", strings.Repeat(" ", 4<<20+1), ""},
		{"POST", "/v2/events", "auction", strings.Repeat(" ", 1<<20+1), ""},
		{"POST", "/v2/events", "auction", `{"clicks":[]}`, ""},
		{"POST", "/v2/events?detail=x", "auction", `{"Clicks":[]}`, ""},
		{"GET", "/v2/events", "auction", "", ""},
		{"OPTIONS", "/v2/events", "", "", ""},
		{"GET", "/v2/unknown", "", "", ""},
		{"GET", "/healthz", "", "", ""},
		{"HEAD", "/healthz", "", "", ""},
	} {
		headers := []string{"X-Request-Id", "one", "Origin", "https://shop.test", "Content-Encoding", c.encoding}
		rec := call(w, c.method, c.target, c.key, c.body, headers...)
		sc := core.Acquire()
		sc.Request = serving.Request{
			Now: w.Now(), Method: []byte(c.method), Target: []byte(c.target), Body: []byte(c.body), BodyTooLarge: len(c.body) > serving.BodyMax,
			RequestID: []byte("one"), Origin: []byte("https://shop.test"), ContentEncoding: []byte(c.encoding),
		}
		if c.key != "" {
			sc.Request.Authorization = []byte("Bearer " + w.Keys[c.key])
		}
		core.Serve(sc)
		if rec.Code != sc.Status || !strings.HasPrefix(c.method, "HEAD") && rec.Body.String() != string(sc.Body) {
			t.Errorf("%s %s %.40q: %d %s, the core says %d %s", c.method, c.target, c.body, rec.Code, rec.Body, sc.Status, sc.Body)
		}
		for _, f := range sc.Fields {
			if got := rec.Header().Get(string(f.Name)); got != string(f.Value) {
				t.Errorf("%s %s: %s is %q, the core says %q", c.method, c.target, f.Name, got, f.Value)
			}
		}
		sc.Release(0)
	}
}

// TestBodies: allowed encodings and sizes of bodies.
func TestBodies(t *testing.T) {
	w := managetest.New(t)
	const path = "/public/v1/catalog-search-service/catalogs/vendors"
	body := `{"vendors":[{"id":"v","name":"V"}]}`
	full := strings.Repeat(" ", manage.BodyMax-len(body)) + body
	zip := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		return b.String()
	}
	for _, c := range []struct {
		name, body string
		headers    []string
		status     int
	}{
		{"no content type", body, nil, 200},
		{"charset", body, []string{"Content-Type", "application/json; charset=utf-8"}, 200},
		{"upper case", body, []string{"Content-Type", "Application/JSON"}, 200},
		{"suffix", body, []string{"Content-Type", "application/vnd.shop+json;v=1"}, 200},
		{"byte order mark", "\ufeff" + body, nil, 400},
		{"at the limit", full, nil, 200},
		{"over the limit", full + " ", nil, 413},
		{"identity", body, []string{"Content-Encoding", "identity"}, 200},
		{"gzip", zip(body), []string{"Content-Encoding", "GZIP"}, 200},
		{"gzip at the limit", zip(full), []string{"Content-Encoding", "gzip"}, 200},
		{"gzip over the limit", zip(full + " "), []string{"Content-Encoding", "gzip"}, 413},
		{"gzip of 512 MB", zip(strings.Repeat("\x00", 64<<20)), []string{"Content-Encoding", "gzip"}, 413},
		{"gzip with a wrong checksum", strings.Replace(zip(body), zip(body)[len(zip(body))-8:], "12345678", 1), []string{"Content-Encoding", "gzip"}, 400},
		{"gzip cut short", zip(body)[:20], []string{"Content-Encoding", "gzip"}, 400},
		{"gzip twice", zip(zip(body)), []string{"Content-Encoding", "gzip, gzip"}, 415},
	} {
		rec := call(w, "PUT", path, "management", c.body, c.headers...)
		if rec.Code != c.status {
			t.Errorf("%s: %d %.200s, want %d", c.name, rec.Code, rec.Body, c.status)
		}
	}
}

// TestHead: HEAD is served where GET is, with the headers of GET. net/http drops the body.
func TestHead(t *testing.T) {
	w := managetest.New(t)
	server := httptest.NewServer(w)
	defer server.Close()
	for _, path := range []string{count, "/", "/docs", "/openapi.json", "/readyz", "/healthz"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 200 || resp.ContentLength <= 0 {
			t.Errorf("HEAD %s: %d, length %d", path, resp.StatusCode, resp.ContentLength)
		}
	}
}

func TestRequestID(t *testing.T) {
	w := managetest.New(t)
	for sent, echoed := range map[string]bool{
		"a": true, "A.b_c-9": true, strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false, "a b": false, "ä": false, "a\"b": false,
	} {
		got := call(w, "GET", count, "management", "", "X-Request-Id", sent).Header().Get("X-Request-Id")
		if (got == sent) != echoed || !echoed && len(got) != 36 {
			t.Errorf("X-Request-Id %q is answered %q", sent, got)
		}
	}
}

// TestCORS: off for the management API, except for the origins that the operator names.
func TestCORS(t *testing.T) {
	const console = "https://console.test"
	for _, c := range []struct {
		configured []string
		origin     string
		allowed    bool
	}{
		{nil, console, false},
		{[]string{console}, console, true},
		{[]string{console}, "https://elsewhere.test", false},
		{[]string{console}, "", false},
	} {
		w := managetest.NewWith(t, manage.Config{CORSOrigins: c.configured})
		rec := call(w, "GET", count, "management", "", "Origin", c.origin)
		preflight := call(w, "OPTIONS", count, "", "", "Origin", c.origin, "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "authorization, x-shop")
		failed := call(w, "GET", count, "", "", "Origin", c.origin)
		if preflight.Code != 204 || preflight.Body.Len() > 0 {
			t.Errorf("preflight: %d %q", preflight.Code, preflight.Body)
		}
		for _, h := range []http.Header{rec.Header(), preflight.Header(), failed.Header()} {
			if got := h.Get("Access-Control-Allow-Origin"); (got == c.origin && c.origin != "") != c.allowed || got == "*" {
				t.Errorf("configured %v, origin %q: allowed %q", c.configured, c.origin, got)
			}
			if (h.Get("Vary") == "Origin") != (len(c.configured) > 0) {
				t.Errorf("configured %v: Vary %q", c.configured, h.Get("Vary"))
			}
			if h.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are never allowed")
			}
		}
		if got := preflight.Header().Get("Access-Control-Allow-Headers"); c.allowed && got != "authorization, x-shop" {
			t.Errorf("headers %q", got)
		}
		if got := rec.Header().Get("Access-Control-Expose-Headers"); c.allowed && !strings.Contains(got, "Retry-After") {
			t.Errorf("exposed %q", got)
		}
	}
}

func TestPreflightNames(t *testing.T) {
	w := managetest.NewWith(t, manage.Config{CORSOrigins: []string{"https://c.test"}})
	const fallback = "authorization, content-type, accept, x-ua, x-request-id"
	for asked, want := range map[string]string{
		"":                        fallback,
		"x-a":                     "x-a",
		"x-a,x-b":                 "x-a,x-b",
		"x-a,,x-b":                fallback,
		"x a":                     fallback,
		"x-a\r\nSet-Cookie: a":    fallback,
		strings.Repeat("x", 1024): strings.Repeat("x", 1024),
		strings.Repeat("x", 1025): fallback,
	} {
		rec := call(w, "OPTIONS", count, "", "", "Origin", "https://c.test", "Access-Control-Request-Headers", asked)
		if got := rec.Header().Get("Access-Control-Allow-Headers"); got != want {
			t.Errorf("asked for %.40q: %.80q, want %.80q", asked, got, want)
		}
	}
}

// TestPages: the pages load nothing from other hosts and have no inline scripts, and the page of errors has an anchor for every
// code that an answer may link to.
func TestPages(t *testing.T) {
	w := managetest.NewWith(t, manage.Config{Runbook: "# Runbook\n\nWait for <NODE>.\n"})
	for path, kind := range map[string]string{
		"/docs/runbook": "text/html; charset=utf-8",
		"/":             "text/html; charset=utf-8", "/docs": "text/html; charset=utf-8", "/docs/errors": "text/html; charset=utf-8",
		"/docs/style.css": "text/css; charset=utf-8", "/docs/reference.js": "text/javascript; charset=utf-8", "/openapi.json": "application/json",
	} {
		rec := call(w, "GET", path, "", "")
		if rec.Code != 200 || rec.Header().Get("Content-Type") != kind {
			t.Errorf("GET %s: %d %s", path, rec.Code, rec.Header().Get("Content-Type"))
		}
		csp := rec.Header().Get("Content-Security-Policy")
		strict := strings.HasPrefix(csp, "default-src 'none';") && !strings.Contains(csp, "unsafe")
		if path == "/" { // The console's pages; node/console tests their policy.
			strict = strings.HasPrefix(csp, "default-src 'self';")
		}
		if !strict {
			t.Errorf("GET %s: policy %q", path, csp)
		}
		body := rec.Body.String()
		if strings.HasPrefix(kind, "text/html") && (strings.Contains(body, "//cdn") || strings.Contains(body, "style=") || strings.Contains(body, "onclick")) {
			t.Errorf("GET %s holds what its policy forbids", path)
		}
		if rec := call(w, "POST", path, "", ""); rec.Code != 405 || rec.Header().Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("POST %s: %d, Allow %q", path, rec.Code, rec.Header().Get("Allow"))
		}
	}
	if body := call(w, "GET", "/docs/runbook", "", "").Body.String(); !strings.Contains(body, "# Runbook\n\nWait for &lt;NODE&gt;.\n") {
		t.Errorf("the runbook is served as %s", body)
	}
	page := call(w, "GET", "/docs/errors", "", "").Body.String()
	for _, o := range operations(t) { // The API reference links to the statuses of every operation.
		for status := range o.op.Responses.Map() {
			if status >= "4" && strings.Count(page, `id="status-`+status+`"`) != 1 {
				t.Errorf("%s answers %s, which the page of errors does not explain", o.id, status)
			}
		}
	}
	for c := 1; c < apierr.Codes; c++ {
		if anchor := `id="` + apierr.Code(c).String() + `"`; strings.Count(page, anchor) != 1 {
			t.Errorf("the page of errors has %s %d times", anchor, strings.Count(page, anchor))
		}
	}
}

// TestNotAvailable: without a leader a write is answered 503 with Retry-After, and nothing is logged as a defect.
func TestNotAvailable(t *testing.T) {
	w := managetest.New(t)
	w.FailWrites(true)
	seen := map[string]bool{}
	for range 50 {
		rec := call(w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", "management", `{"vendors":[{"id":"v","name":"V"}]}`)
		if rec.Code != 503 || errCode(t, rec) != "service_unavailable" {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		seen[rec.Header().Get("Retry-After")] = true
	}
	for wait := range seen {
		if !slices.Contains([]string{"1", "2", "3"}, wait) {
			t.Errorf("Retry-After %q", wait)
		}
	}
	if len(seen) < 2 {
		t.Error("Retry-After is not jittered")
	}
	if w.Log() != "" {
		t.Errorf("logged: %s", w.Log())
	}
}

// TestDefect: a panic fails one request, which is answered 500 without details; the log has them.
func TestDefect(t *testing.T) {
	w := managetest.New(t)
	w.PanicOnReads()
	rec := call(w, "GET", count, "management", "")
	if rec.Code != 500 || errCode(t, rec) != "internal_server_error" || strings.Contains(rec.Body.String(), "broken on purpose") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if !strings.Contains(w.Log(), "broken on purpose") {
		t.Errorf("the log does not say why: %s", w.Log())
	}
}

// TestCounted: every request of the management API is counted under its operation id, whatever its result.
func TestCounted(t *testing.T) {
	w := managetest.New(t)
	call(w, "GET", count, "management", "")
	call(w, "GET", count, "", "")
	call(w, "HEAD", count, "auction", "")
	call(w, "POST", keys, "management", "{}")
	w.PanicOnReads()
	call(w, "GET", count, "management", "")
	for _, c := range [][2]string{
		{"countCategories", "200"}, {"countCategories", "401"}, {"countCategories", "403"}, {"createKey", "422"}, {"countCategories", "500"},
	} {
		if !w.Counted(c[0], c[1]) {
			t.Errorf("%v was not counted", c)
		}
	}
}

// TestNothingIsEchoed: errors do not contain what was sent, which may be personal data.
func TestNothingIsEchoed(t *testing.T) {
	w := managetest.New(t)
	for _, body := range []string{
		`{"kind":"s3cret","name":"s3cret","expiresAt":"s3cret"}`, `{"kind":["s3cret"],"name":{"s3cret":1}}`, `s3cret`, `{"s3cret":`,
	} {
		rec := call(w, "POST", "/public/v1/key-service/keys?next_page=s3cret", "management", body)
		if rec.Code < 400 || strings.Contains(rec.Body.String(), "s3cret") {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
}

// TestFifty: of very many violations the first fifty are listed.
func TestFifty(t *testing.T) {
	w := managetest.New(t)
	body, err := json.Marshal(map[string]any{"ids": make([]int, 400)})
	if err != nil {
		t.Fatal(err)
	}
	rec := call(w, "DELETE", "/public/v1/catalog-search-service/catalogs/products", "management", string(body))
	if got := violations(t, rec); len(got) != 50 || got[49].Loc[2] != "49" {
		t.Errorf("%d: %d violations", rec.Code, len(got))
	}
}
