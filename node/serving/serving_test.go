package serving_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/market"
)

// answer is the answer that a listener would send.
type answer struct {
	status int
	fields map[string]string
	body   string
}

// ask sends one request to a core. The change function may alter it.
func ask(core *serving.Core, method, target, key, body string, change ...func(*serving.Request)) answer {
	sc := core.Acquire()
	defer sc.Release(time.Millisecond)
	sc.Request = serving.Request{
		Now: time.UnixMilli(servingtest.NowMillis), Method: []byte(method), Target: []byte(target), Body: []byte(body),
	}
	if key != "" {
		sc.Request.Authorization = []byte("Bearer " + key)
	}
	for _, f := range change {
		f(&sc.Request)
	}
	core.Serve(sc)
	a := answer{status: sc.Status, fields: map[string]string{}, body: string(sc.Body)}
	for _, f := range sc.Fields {
		a.fields[string(f.Name)] = string(f.Value)
	}
	return a
}

// errCode reads the error object and checks its form.
func (a answer) errCode(t *testing.T) string {
	t.Helper()
	var members map[string]string
	if err := json.Unmarshal([]byte(a.body), &members); err != nil || len(members) != 4 {
		t.Fatalf("no error object of four members: %s", a.body)
	}
	code := members["errCode"]
	if members["docUrl"] != "http://gavel.test/docs/errors#"+code || members["error"] != http.StatusText(a.status) || members["message"] == "" {
		t.Errorf("error object of a %d: %v", a.status, members)
	}
	return code
}

const auctionBody = `{"auctions":[{"type":"listings","slots":2,"products":{"ids":["p-0000001","p-0000002","nobody"]}}]}`

func TestPaths(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	for target, want := range map[string]int{
		"/v2/auctions":                          201,
		"//v2/auctions":                         201, // A host that ends in a slash.
		"///v2////auctions":                     201,
		"/v2/auctions?x=1&y=/../z":              201,
		"/v2/auctions#fragment":                 201,
		"http://elsewhere.example/v2/auctions":  201,
		"http://elsewhere.example//v2/auctions": 201,
		"//v2//auctions///sponsored-brand?x":    400,
		"/v2/auctions/travel":                   400, // The path has an endpoint, which refuses the body.
		"/v2/auctions/travel/":                  404,
		"/v2/auctions/Travel":                   404,
		"/v2/auctions/":                         404,
		"/v2/auctions//":                        404,
		"/v2/Auctions":                          404,
		"/V2/auctions":                          404,
		"/v2/auction":                           404,
		"/v2/auctionsx":                         404,
		"/v2/./auctions":                        404,
		"/v2/../v2/auctions":                    404,
		"/./v2/auctions":                        404,
		"/v2/auctions/.":                        404,
		"/v2/auctions/..":                       404,
		"/v2/%2e/auctions":                      404,
		"/v2/%2E%2e/v2/auctions":                404,
		"/v2/.%2e/v2/auctions":                  404,
		"/v2/%61uctions":                        404, // Only path parameters are decoded, and /v2 has none.
		"/v2%2Fauctions":                        404,
		"/v2/auctions%00":                       404,
		"/v2/auctions;x":                        404,
		"/v2\\auctions":                         404,
		"v2/auctions":                           400,
		"/v2/%zz":                               400,
		"/v2/auctions%2":                        400,
		"":                                      404,
		"*":                                     404,
		"/":                                     404,
		"/v2":                                   404,
		"/v2/":                                  404,
		"http://elsewhere.example":              404,
		"http://elsewhere.example?/v2/auctions": 404,
		"/healthz/":                             404,
		"/v1/auctions":                          404,
	} {
		a := ask(node.Core, "POST", target, node.AuctionKey, auctionBody)
		if a.status != want {
			t.Errorf("%q: %d %s, want %d", target, a.status, a.body, want)
		}
		if location := a.fields["Location"]; location != "" || a.status/100 == 3 {
			t.Errorf("%q: redirected", target)
		}
		if want == 404 && a.errCode(t) != "resource_not_found" {
			t.Errorf("%q: %s", target, a.body)
		}
	}
}

func TestIsV2(t *testing.T) {
	for target, want := range map[string]bool{
		"/v2/auctions": true, "//v2//x": true, "/v2/": true, "http://h/v2/x?q": true,
		"/v2": false, "/public/v1/v2/x": false, "/x?/v2/": false, "": false, "/v22/x": false,
	} {
		if got := serving.IsV2([]byte(target)); got != want {
			t.Errorf("%q: %v", target, got)
		}
	}
}

func FuzzAppendCleanPath(f *testing.F) {
	for _, path := range []string{"/v2/auctions", "//a/./b", "/%2e%2E/x", "", "/a/..", "x", "/...", "/%2", "/%2e%"} {
		f.Add([]byte(path))
	}
	naive := regexp.MustCompile(`(?i)^(\.|%2e){1,2}$`)
	f.Fuzz(func(t *testing.T, path []byte) {
		clean, good := serving.AppendCleanPath(nil, path)
		want, wantGood := string(path), strings.HasPrefix(string(path), "/")
		for strings.Contains(want, "//") {
			want = strings.ReplaceAll(want, "//", "/")
		}
		for segment := range strings.SplitSeq(want, "/") {
			wantGood = wantGood && !naive.MatchString(segment)
		}
		if string(clean) != want || good != wantGood {
			t.Errorf("%q: %q %v, want %q %v", path, clean, good, want, wantGood)
		}
		if again, _ := serving.AppendCleanPath(nil, clean); string(again) != string(clean) {
			t.Errorf("%q: cleaning twice gives %q", clean, again)
		}
	})
}

func TestMethods(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	for _, tc := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/v2/auctions", 405, "POST, OPTIONS"},
		{"HEAD", "/v2/auctions", 405, "POST, OPTIONS"},
		{"PUT", "/v2/events", 405, "POST, OPTIONS"},
		{"post", "/v2/auctions", 405, "POST, OPTIONS"}, // Methods are case-sensitive.
		{"BREW", "/v2/events", 405, "POST, OPTIONS"},
		{"POST", "/healthz", 405, "GET, HEAD, OPTIONS"},
		{"GET", "/healthz", 200, ""},
		{"HEAD", "/healthz", 200, ""},
		{"OPTIONS", "/v2/auctions", 204, "POST, OPTIONS"},
		{"OPTIONS", "/v2/auctions/sponsored-brand", 204, "POST, OPTIONS"},
		{"OPTIONS", "/v2/auctions/travel", 204, "POST, OPTIONS"},
		{"PUT", "/v2/auctions/sponsored-brand", 405, "POST, OPTIONS"},
		{"GET", "/v2/auctions/travel", 405, "POST, OPTIONS"},
		{"OPTIONS", "/healthz", 204, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/v2/nowhere", 404, ""},
		{"GET", "/v2/nowhere", 404, ""}, // The path comes before the method.
	} {
		a := ask(node.Core, tc.method, tc.path, "", "") // The method comes before the key.
		if a.status != tc.status || a.fields["Allow"] != tc.allow {
			t.Errorf("%s %s: %d, Allow %q; want %d, %q", tc.method, tc.path, a.status, a.fields["Allow"], tc.status, tc.allow)
		}
		if (a.status == 204) != (a.body == "") {
			t.Errorf("%s %s: a %d with body %q", tc.method, tc.path, a.status, a.body)
		}
		if a.status == 405 && a.errCode(t) != "method_not_allowed" {
			t.Errorf("%s %s: %s", tc.method, tc.path, a.body)
		}
	}
	if a := ask(node.Core, "GET", "/healthz", "", ""); a.body != `{"status":"ok"}` {
		t.Errorf("health: %s", a.body)
	}
}

func TestKeys(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	for _, path := range []string{"/v2/auctions", "/v2/auctions/sponsored-brand", "/v2/auctions/travel", "/v2/events"} {
		for name, tc := range map[string]struct {
			key, errCode string
			status       int
		}{
			"absent":                   {"", "invalid_api_key", 401},
			"malformed":                {"gavel_auc_nonsense", "invalid_api_key", 401},
			"expired":                  {node.ExpiredKey, "invalid_api_key", 401},
			"of the wrong kind":        {node.ManagementKey, "invalid_api_key", 403},
			"of a suspended tenant":    {node.SuspendedKey, "invalid_marketplace", 403},
			"good, body bad":           {node.AuctionKey, "invalid_json", 400},
			"changed in its last byte": {node.AuctionKey[:len(node.AuctionKey)-1] + "-", "invalid_api_key", 401},
		} {
			a := ask(node.Core, "POST", path, tc.key, "{")
			if a.status != tc.status || a.errCode(t) != tc.errCode {
				t.Errorf("%s, key %s: %d %s", path, name, a.status, a.body)
			}
			if want := map[bool]string{true: `Bearer realm="gavel"`}[a.status == 401]; a.fields["Www-Authenticate"] != want {
				t.Errorf("%s, key %s: WWW-Authenticate %q", path, name, a.fields["Www-Authenticate"])
			}
		}
	}
	if a := ask(node.Core, "POST", "/v2/auctions?key="+node.AuctionKey, "", auctionBody); a.status != 401 {
		t.Errorf("a key in the query: %d", a.status)
	}
}

func TestBodyRules(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	encoding := func(value string) func(*serving.Request) {
		return func(r *serving.Request) { r.ContentEncoding = []byte(value) }
	}
	tooLarge := func(r *serving.Request) { r.Body, r.BodyTooLarge = nil, true }
	pad := func(n int) string { return auctionBody + strings.Repeat(" ", n-len(auctionBody)) }
	for _, tc := range []struct {
		name, path, body, errCode string
		change                    func(*serving.Request)
		status                    int
	}{
		{"identity", "/v2/auctions", auctionBody, "", encoding("Identity"), 201},
		{"gzip", "/v2/auctions", auctionBody, "bad_request", encoding("gzip"), 400},
		{"gzip events", "/v2/events", `{"clicks":[]}`, "bad_request", encoding("gzip"), 400},
		{"auctions at the limit", "/v2/auctions", pad(4 << 20), "", nil, 201},
		{"auctions over the limit", "/v2/auctions", pad(4<<20 + 1), "bad_request", nil, 400},
		{"auctions cut off by the listener", "/v2/auctions", "", "bad_request", tooLarge, 400},
		{"events over the limit", "/v2/events", pad(1<<20 + 1), "bad_request", nil, 400},
		{"no auctions", "/v2/auctions", "", "empty_request", nil, 400},
		{"no events", "/v2/events", "", "empty_request", nil, 400},
		{"fault with its place", "/v2/auctions", `{"auctions":[{"type":"listings","slots":0,"products":{"ids":["a"]}}]}`, "too_few_slots", nil, 400},
	} {
		change := tc.change
		if change == nil {
			change = func(*serving.Request) {}
		}
		a := ask(node.Core, "POST", tc.path, node.AuctionKey, tc.body, change)
		if a.status != tc.status || tc.status != 201 && a.errCode(t) != tc.errCode {
			t.Errorf("%s: %d %.200s", tc.name, a.status, a.body)
		}
	}
	a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, `{"auctions":[{"type":"listings","slots":0,"products":{"ids":["a"]}}]}`)
	if !strings.Contains(a.body, "auctions[0].slots") {
		t.Errorf("the message does not name the member: %s", a.body)
	}
}

func TestRequestID(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	uuid7 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	with := func(id string) string {
		return ask(node.Core, "GET", "/healthz", "", "", func(r *serving.Request) { r.RequestID = []byte(id) }).fields["X-Request-Id"]
	}
	for _, id := range []string{"a", "A.b_c-9", strings.Repeat("x", 64)} {
		if got := with(id); got != id {
			t.Errorf("%q came back as %q", id, got)
		}
	}
	seen := map[string]bool{}
	for _, id := range []string{"", " ", "a b", "a\r\nX: y", "ü", "a/b", strings.Repeat("x", 65), "", ""} {
		got := with(id)
		if !uuid7.MatchString(got) || seen[got] {
			t.Errorf("%q came back as %q", id, got)
		}
		seen[got] = true
	}
	a := ask(node.Core, "POST", "/v2/auctions", "", "", func(r *serving.Request) { r.RequestID = []byte("mine") })
	if a.fields["X-Request-Id"] != "mine" {
		t.Error("an error does not carry the caller's id")
	}
}

// TestScratchCarriesNothingOver checks that values of one tenant's request in a pooled scratch do not affect another's.
func TestScratchCarriesNothingOver(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	rich := `{"auctions":[{"type":"listings","slots":5,"products":{"ids":["p-0000001","p-0000002"],"qualityScores":[1,1]},"device":"mobile"},` +
		`{"type":"listings","slots":3,"products":{"ids":["p-0000003"]}}]}`
	poor := `{"auctions":[{"type":"listings"}]}`
	for range 50 {
		if a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, rich); a.status != 201 {
			t.Fatal(a.body)
		}
		if a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, poor); a.status != 400 || a.errCode(t) != "missing_slots" {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
}

func TestPanicOfAReadPathCostsOneRequest(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	deps, broken := node.Deps, true
	deps.View = func() *market.View {
		if broken {
			panic("a defect")
		}
		return node.Market.View()
	}
	core := serving.New(deps)
	for _, path := range []string{"/v2/auctions", "/v2/auctions/sponsored-brand", "/v2/auctions/travel", "/v2/events"} {
		a := ask(core, "POST", path, node.AuctionKey, auctionBody)
		if a.status != 500 || a.errCode(t) != "internal_server_error" || strings.Contains(a.body, "defect") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	broken = false
	if a := ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody); a.status != 201 {
		t.Errorf("afterwards: %d %s", a.status, a.body)
	}
	if text := scrape(t, node); !strings.Contains(text, "gavel_panics_total 4\n") {
		t.Error("the panics were not counted")
	}
}

func TestConfiguredBodyLimits(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	deps := node.Deps
	deps.AuctionBodyMax, deps.EventBodyMax = 200, 100
	core := serving.New(deps)
	if core.BodyMax() != 200 {
		t.Errorf("listeners read %d bytes", core.BodyMax())
	}
	for _, tc := range []struct {
		path   string
		length int
		status int
	}{{"/v2/auctions", 200, 201}, {"/v2/auctions", 201, 400}, {"/v2/events", 101, 400}} {
		body := auctionBody + strings.Repeat(" ", tc.length-len(auctionBody))
		if a := ask(core, "POST", tc.path, node.AuctionKey, body); a.status != tc.status {
			t.Errorf("%d bytes to %s: %d %s", tc.length, tc.path, a.status, a.body)
		}
	}
}
