package console_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// A page of another origin changes nothing, whatever header the browser has for that; a script without a browser may.
func TestOtherOriginsChangeNothing(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	for _, path := range []string{sessionPath, "/console/api/setup", "/console/api/invitations/accept", "/console/api/users", keys} {
		for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			b := *ada
			b.header = map[string]string{"Sec-Fetch-Site": "", name: value}
			if a := b.must(403, "POST", path, `{}`); a["errCode"] != "cross_origin_request" {
				t.Errorf("POST %s with %s: %v", path, name, a)
			}
		}
		for _, origin := range []string{"https://evil.example", "null"} {
			w := ada.send("OPTIONS", path, "")
			if allowed := w.Header().Get("Access-Control-Allow-Origin"); allowed != "" {
				t.Errorf("%s may be read by %s from %s", path, allowed, origin)
			}
		}
	}
	form := *ada
	form.header = map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	form.must(415, "POST", sessionPath, "email=a")
}

// No answer leads anywhere else, however the path is written.
func TestNothingIsRedirected(t *testing.T) {
	ada := setUp(t, managetest.New(t))
	for _, path := range []string{
		"/", "/console", "/console/", "//evil.example/console", "/console//evil.example", "/console/..//evil.example",
		"/console/setup?next=https://evil.example", "/console/invitation?token=x", "/console/api/session/", "/console/api/v1",
	} {
		w := ada.send("GET", path, "")
		if w.Code >= 300 && w.Code < 400 || w.Header().Get("Location") != "" {
			t.Errorf("GET %s: %d to %q", path, w.Code, w.Header().Get("Location"))
		}
	}
}

// The link of an invitation works once, makes a user of the vendor with the invited role, and the right ends with the user's vendor.
func TestAnInvitationOfAVendor(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	const accept = "/console/api/invitations/accept"
	ada.must(200, "PUT", "/console/api/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"va","name":"A"},{"id":"vb","name":"B"}]}`)
	invite := func(vendor, email, role string) (id, token string) {
		t.Helper()
		a := ada.must(200, "POST", "/console/api/v1/invitation-service/invitations",
			`{"invites":[{"vendorId":"`+vendor+`","vendorEmail":"`+email+`","targetUserRole":"`+role+`"}]}`)
		it := a["invites"].([]any)[0].(map[string]any)
		_, token, _ = strings.Cut(it["acceptUrl"].(string), "/console/invitation#token=")
		return it["invitationId"].(string), token
	}
	body := func(token, password string) string {
		return `{"token":"` + token + `","name":"Vera","password":"` + password + `"}`
	}
	_, token := invite("va", "vera@example.com", "vendor_analyst")
	vera := ada.fresh()
	vera.must(401, "POST", accept, body(token[:len(token)-1]+"x", password))
	vera.must(400, "POST", accept, body(token, "short"))
	user := vera.must(200, "POST", accept, body(token, password))["user"].(map[string]any)
	if user["role"] != "vendorAnalyst" || user["vendorId"] != "va" || user["email"] != "vera@example.com" {
		t.Errorf("the user is %v", user)
	}
	vera.fresh().must(401, "POST", accept, body(token, password))
	vera.must(200, "GET", "/console/api/v1/campaign-service/campaigns", "")
	vera.must(403, "GET", "/console/api/v1/catalog-search-service/catalogs/vendors", "")

	id, revoked := invite("vb", "x@example.com", "vendor_admin")
	ada.must(204, "DELETE", "/console/api/v1/invitation-service/invitations/"+id, "")
	vera.fresh().must(401, "POST", accept, body(revoked, password))
	_, late := invite("vb", "y@example.com", "vendor_admin")
	_, second := invite("vb", "Vera@example.com", "vendor_admin")
	other := vera.fresh()
	other.must(401, "POST", accept, body(second, "not the password of the account"))
	both := other.must(200, "POST", accept, body(second, password))["marketplaces"].([]any)
	if len(both) != 2 {
		t.Errorf("with two vendors: %v", both)
	}
	vera.header["X-Gavel-Vendor"] = "vb"
	if got := vera.must(200, "GET", sessionPath, "")["user"].(map[string]any); got["role"] != "vendorAdmin" {
		t.Errorf("for the second vendor: %v", got)
	}
	found := ada.must(200, "GET", "/console/api/v1/user-service/advertiser-users?email=vera@example.com", "")
	ada.must(200, "PATCH", "/console/api/v1/user-service/advertiser-users/"+found["userId"].(string), `{"vendorIds":["va"]}`)
	vera.must(403, "GET", "/console/api/v1/campaign-service/campaigns", "")
	delete(vera.header, "X-Gavel-Vendor")
	vera.must(200, "GET", "/console/api/v1/campaign-service/campaigns", "")
	ada.must(204, "DELETE", "/console/api/v1/user-service/advertiser-users/"+found["userId"].(string), "")
	vera.must(403, "GET", "/console/api/v1/campaign-service/campaigns", "")

	env.Advance(73 * time.Hour)
	other.fresh().must(401, "POST", accept, body(late, password))
}

// The first admin is made once, whatever two people do with the link at the same moment, and a role is given by the link alone.
func TestTheSetupLinkWorksOnce(t *testing.T) {
	env := managetest.New(t)
	link, err := env.Console.SetupLink()
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(link, "#token=")
	codes := make(chan int, 2)
	for _, who := range []string{"a", "b"} {
		b := newBrowser(t, env)
		go func() {
			codes <- b.send("POST", "/console/api/setup", `{"token":"`+token+`","email":"`+who+`@example.com","name":"N","password":"`+password+`"}`).Code
		}()
	}
	if first, second := <-codes, <-codes; min(first, second) != 200 || max(first, second) != 409 {
		t.Errorf("two at the same moment: %d and %d", first, second)
	}
	if err := env.Console.EnsureAdmin(t.Context(), "c@example.com", password); err != nil {
		t.Errorf("a configured admin beside another: %v", err)
	}
	newBrowser(t, env).must(401, "POST", sessionPath, `{"email":"c@example.com","password":"`+password+`"}`)
}

// What a body may not be is refused with the member that is wrong.
func TestBadBodies(t *testing.T) {
	ada := setUp(t, managetest.New(t))
	for _, c := range []struct{ body, code, says string }{
		{`{"email":"x","role":"analyst"}`, "bad_request", "email"},
		{`{"email":"x@example.com","role":"vendorAdmin"}`, "bad_request", "role"},
		{`{"email":7,"role":"analyst"}`, "bad_request", "email"},
		{`{"email":"x@example.com","rolle":"analyst"}`, "invalid_json", "members"},
		{`{"email":"x@example.com"`, "invalid_json", "JSON"},
		{`{"email":"` + strings.Repeat("x", 17<<10) + `"}`, "payload_too_large", ""},
	} {
		w := ada.send("POST", "/console/api/users", c.body)
		if !strings.Contains(w.Body.String(), `"`+c.code+`"`) || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%.60s: %d %s", c.body, w.Code, w.Body)
		}
	}
}

// The pages have their policy, the index is never stored, and a path that is no page of the console is none.
func TestPages(t *testing.T) {
	b := newBrowser(t, managetest.New(t))
	for path, want := range map[string]struct {
		status int
		cache  string
	}{
		"/":                         {200, "no-store"},
		"/console":                  {200, "no-store"},
		"/console/campaigns/1":      {200, "no-store"},
		"/console/assets/x-1234.js": {404, "no-store"},
		"/console/api/nothing":      {404, "no-store"},
		"/console/api%2fsession":    {404, "no-store"},
	} {
		w := b.send("GET", path, "")
		h := w.Header()
		if w.Code != want.status || h.Get("Cache-Control") != want.cache || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("GET %s: %d %v", path, w.Code, h)
		}
		if policy := h.Get("Content-Security-Policy"); w.Code == 200 && (!strings.HasPrefix(policy,
			"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:;") || !strings.Contains(policy, "frame-ancestors 'none'")) {
			t.Errorf("GET %s has the policy %q", path, policy)
		}
	}
}

// stream opens a stream of events for a browser and returns its lines, until it ends.
func (b *browser) stream(address string) <-chan string {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, value := range b.header {
		r.Header.Set(name, value)
	}
	r.AddCookie(b.cookie)
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		b.Fatalf("%v, %v", answer, err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer func() { _ = answer.Body.Close() }()
		for from := bufio.NewScanner(answer.Body); from.Scan(); {
			lines <- from.Text()
		}
	}()
	return lines
}

// The live stream shows an auction of the own marketplace without its user, and ends when the session ends.
func TestTheLiveStream(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	server := httptest.NewServer(env)
	t.Cleanup(server.Close)
	lines := ada.stream(server.URL + "/console/api/live")
	<-lines
	for _, key := range []string{"auction", "other-auction"} {
		shop := newBrowser(t, env)
		shop.header["Authorization"] = "Bearer " + env.Keys[key]
		shop.header["X-Request-Id"] = "request-of-" + key
		if w := shop.send("POST", "/v2/auctions", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]},"opaqueUserId":"secret-user"}]}`); w.Code != 201 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	seen := ""
	for !strings.Contains(seen, `"fillRate":0`) || !strings.Contains(seen, "request-of-auction") {
		seen += <-lines + "\n"
	}
	for text, want := range map[string]bool{
		`"operation":"auctions"`: true, `"resultType":"listings"`: true, `"opaqueUserId":"(masked)"`: true,
		"secret-user": false, "request-of-other-auction": false,
	} {
		if strings.Contains(seen, text) != want {
			t.Errorf("%q is there: %v\n%s", text, !want, seen)
		}
	}
	ada.must(204, "DELETE", sessionPath, "")
	for range lines { // The test hangs when the stream does not end.
	}
}

// A page that shows rates only is sent no samples, whoever else looks at them; a word that is none is refused.
func TestTheLiveStreamOfRatesAlone(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	ada.must(400, "GET", "/console/api/live?samples=few", "")
	server := httptest.NewServer(env)
	t.Cleanup(server.Close)
	all, rates := ada.stream(server.URL+"/console/api/live"), ada.stream(server.URL+"/console/api/live?samples=none")
	shop := newBrowser(t, env)
	shop.header["Authorization"] = "Bearer " + env.Keys["auction"]
	until := func(lines <-chan string, text string) (seen string) {
		for !strings.Contains(seen, text) {
			if w := shop.send("POST", "/v2/auctions", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`); w.Code != 201 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			line, open := <-lines
			if !open {
				t.Fatalf("the stream ended after %s", seen)
			}
			seen += line + "\n"
		}
		return seen
	}
	until(all, "event: auction")
	if seen := until(rates, "auctionsPerSecond"); strings.Contains(seen, "event: auction") {
		t.Errorf("a stream of rates has %s", seen)
	}
	ada.must(204, "DELETE", sessionPath, "")
	for range rates { // The test hangs when the stream does not end.
	}
}

// The stream of events shows what became of each, why a request was refused, and the totals, without users.
func TestTheLiveStreamOfEvents(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	server := httptest.NewServer(env)
	t.Cleanup(server.Close)
	lines := ada.stream(server.URL + "/console/api/live?samples=events")
	<-lines
	shop := newBrowser(t, env)
	shop.header["Authorization"] = "Bearer " + env.Keys["auction"]
	event := `{"id":"e1","page":{"type":"home"},"opaqueUserId":"secret-user","occurredAt":"` + env.Now().UTC().Format(time.RFC3339) + `"}`
	seen := ""
	for _, c := range []struct{ body, want string }{
		{`{"pageviews":[` + event + `]}`, `"events":[{"kind":"pageviews","id":"e1","status":"recorded","chargedMicros":0}]`},
		{`{"pageviews":[` + event + `]}`, `"status":"duplicate"`},
		{`{"pageviews":[{"opaqueUserId":"secret-user"}]}`, `"errCode":"`},
	} {
		for !strings.Contains(seen, c.want) { // Samples are apart by a time that the clock of the test does not pass by itself.
			env.Advance(time.Second)
			shop.send("POST", "/v2/events", c.body)
			seen += <-lines + "\n"
		}
	}
	for !strings.Contains(seen, `"recorded":1`) {
		seen += <-lines + "\n"
	}
	if strings.Contains(seen, "secret-user") || !strings.Contains(seen, `"opaqueUserId":"(masked)"`) || strings.Contains(seen, "event: auction") {
		t.Errorf("the stream has %s", seen)
	}
	ada.must(204, "DELETE", sessionPath, "")
	for range lines { // The test hangs when the stream does not end.
	}
}
