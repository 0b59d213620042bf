package manage_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// callerRows reads the rows of the matrix: every route with its allowed callers. The file is written by hand, so that a new route
// has to state its callers here, too.
func callerRows(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/callers.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if callers, pattern, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && callers != "#" {
			rows[pattern] = callers
		}
	}
	return rows
}

var wildcard = regexp.MustCompile(`{[^}]*}`)

// routePath is the path of a route, with the vendor of the matrix and unknown ids.
func routePath(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	path = strings.ReplaceAll(path, "{$}", "")
	path = strings.ReplaceAll(path, "{vendor_id}", "va")
	return method, wildcard.ReplaceAllString(path, nobody)
}

// vendorEnvironment returns an environment with the vendors va and vb, and the names of the credentials that the matrix tries.
func vendorEnvironment(t *testing.T) (w *managetest.Environment, credentials []string) {
	t.Helper()
	w = managetest.New(t)
	put := func(path, body string) {
		t.Helper()
		if rec := call(w, "PUT", "/public/v1/catalog-search-service/catalogs/"+path, "management", body); rec.Code != 200 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	put("vendors", `{"vendors":[{"id":"va","name":"A"},{"id":"vb","name":"B"}]}`)
	put("products", `{"products":[{"id":"pa","name":"PA","vendors":["va"],"categories":[]},{"id":"pb","name":"PB","vendors":["vb"],"categories":[]}]}`)
	w.Keys["own vendor"], w.Keys["another vendor"] = w.ModalToken("management", "va"), w.ModalToken("management", "vb")
	return w, []string{"", "Bearer x", "auction", "management", "other", "own vendor", "another vendor"}
}

// reaction is the part of an answer that a client bases decisions on.
type reaction struct {
	status  int
	errCode string
}

func reactionOf(rec *httptest.ResponseRecorder) reaction {
	var b struct{ ErrCode string }
	if rec.Code >= 400 {
		_ = json.Unmarshal(rec.Body.Bytes(), &b) // A 422 and files of the network have no errCode.
	}
	return reaction{rec.Code, b.ErrCode}
}

// wanted returns the answer with which a credential has to be refused for a row; isRefused is false for an allowed one.
func wanted(callers, path, credential string) (refused reaction, isRefused bool) {
	unknown, wrong := reaction{401, "invalid_api_key"}, reaction{403, "invalid_api_key"}
	switch {
	case callers == "anybody" || callers == "core":
		return reaction{}, false
	case credential == "" || credential == "Bearer x":
		return unknown, true
	case callers == "management" && (credential == "management" || credential == "other"),
		callers == "operator" && credential == "management",
		callers == "vendor" && credential == "own vendor",
		callers == "vendor" && credential == "another vendor" && !strings.Contains(path, "/va/"):
		return reaction{}, false
	}
	return wrong, true
}

// TestRouteMatrix: every route, in every spelling of its path, with every kind of credential. Every spelling of the same path is
// answered like the plain one, a dot segment is not a path, and nothing is redirected or found by an encoded slash.
func TestRouteMatrix(t *testing.T) {
	w, credentials := vendorEnvironment(t)
	rows := callerRows(t)
	patterns := w.Patterns()
	for _, o := range operations(t) {
		if o.v2() {
			patterns = append(patterns, o.method+" "+o.path)
		}
	}
	for _, pattern := range patterns {
		if rows[pattern] == "" {
			t.Errorf("testdata/callers.txt has no row for %s: say who may call it", pattern)
		}
	}
	for pattern, callers := range rows {
		if !slices.Contains(patterns, pattern) {
			t.Errorf("testdata/callers.txt has a row for %s, which is no route", pattern)
		}
		matrixRow(t, w, pattern, callers, credentials)
	}
	if log := w.Log(); log != "" {
		t.Errorf("none of it is a defect: %.500s", log)
	}
}

func matrixRow(t *testing.T, w *managetest.Environment, pattern, callers string, credentials []string) {
	method, path := routePath(pattern)
	body := ""
	if method != "GET" {
		body = `{"nothing":"known"}`
	}
	ask := func(target, credential string) reaction { return reactionOf(call(w, method, target, credential, body)) }
	all := spellings(path)
	if callers == "page" { // Every path below that of the console is one of its pages.
		all, callers = nil, "anybody"
	}
	for _, credential := range credentials {
		ask(path, credential) // A creation that succeeds once is refused from the second time on.
		plain := ask(path, credential)
		refused, isRefused := wanted(callers, path, credential)
		switch {
		case isRefused && plain != refused:
			t.Errorf("%s with credential %q: %v, want %v", pattern, credential, plain, refused)
		case callers == "anybody" && plain != ask(path, ""), plain.status >= 500,
			!isRefused && callers != "anybody" && callers != "core" && plain.errCode == "invalid_api_key":
			t.Errorf("%s with credential %q: %v", pattern, credential, plain)
		}
		for _, s := range all {
			got, want := ask(s.path, credential), plain
			switch {
			case s.as == noPath, s.as == samePath && callers == "core" && strings.Contains(s.path, "%"):
				// Paths of the core have no path values, and both listeners decode nothing else.
				want = reaction{404, "resource_not_found"}
			case s.as == otherPath:
				want = got
				every := strings.HasSuffix(pattern, "/{opaque_user_id}") && got == plain // Every text may be the id of a user.
				if (got.status < 400 || got.status > 499) && !every {
					t.Errorf("%s with credential %q, %s (%s): %v, which is another path", pattern, credential, s.name, s.path, got)
				}
			}
			if got != want {
				t.Errorf("%s with credential %q, %s (%s): %v, want %v", pattern, credential, s.name, s.path, got, want)
			}
		}
	}
}

// TestTemplatesAgree: the audit log reads the resource before a change by the operation with the same path template. Two
// templates that differ in the names of their path values alone would be read with empty ones.
func TestTemplatesAgree(t *testing.T) {
	shapes := map[string]string{}
	for _, pattern := range managetest.New(t).Patterns() {
		_, path, _ := strings.Cut(pattern, " ")
		shape := wildcard.ReplaceAllString(path, "{}")
		if known := shapes[shape]; known != "" && known != path {
			t.Errorf("%s and %s are one path with two templates", known, path)
		}
		shapes[shape] = path
	}
}

// TestSpellingsAreOneRequest: idempotency keys, the rate limit of the catalog and the audit log identify a request
// by its route, however its path is written.
func TestSpellingsAreOneRequest(t *testing.T) {
	w := managetest.NewWith(t, manage.Config{RateManagement: 100, RateCatalog: 7})
	const body = `{"kind":"auction","name":"one"}`
	first := call(w, "POST", "/public/v1/key-service/keys", "management", body, "Idempotency-Key", "once")
	again := call(w, "POST", "//public/v1/%6Bey-service/key%73", "management", body, "Idempotency-Key", "once")
	if first.Code != 201 || again.Code != 201 || first.Body.String() != again.Body.String() {
		t.Errorf("%d %s, repeated in another spelling: %d %s", first.Code, first.Body, again.Code, again.Body)
	}
	catalog := call(w, "GET", encoded(count, 0, len(count), "%%%02x"), "management", "")
	if limit := catalog.Header().Get("X-RateLimit-Limit"); limit != "7" {
		t.Errorf("the catalog in another spelling has a limit of %s", limit)
	}
	call(w, "PATCH", "/public/v1/marketplace%2dservice//settings", "management", `{"name":"N"}`)
	for _, e := range auditLog(t, w) {
		if e.Path != "/public/v1/key-service/keys" && e.Path != "/public/v1/marketplace-service/settings" {
			t.Errorf("the audit log has the path %s", e.Path)
		}
	}
	if len(auditLog(t, w)) != 2 {
		t.Errorf("the audit log has %v", auditLog(t, w))
	}
}
