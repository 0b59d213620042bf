package manage_test

import (
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

const keys = "/public/v1/key-service/keys"

func limited(t *testing.T) *managetest.Environment {
	t.Helper()
	return managetest.NewWith(t, manage.Config{RateManagement: 45, RateCatalog: 10})
}

// times sends a request n times and returns the last answer.
func times(w *managetest.Environment, n int, path, key string, headers ...string) (rec *httptest.ResponseRecorder) {
	for range n {
		rec = call(w, "GET", path, key, "", headers...)
	}
	return rec
}

func TestWindow(t *testing.T) {
	w := limited(t)
	w.Advance(300 * time.Millisecond)
	ends := strconv.FormatInt(w.Now().Add(2*time.Second).Unix()+1, 10) // Rounded up.
	check := func(rec *httptest.ResponseRecorder, status int, remaining, reset, retry string) {
		t.Helper()
		h := rec.Header()
		if rec.Code != status || h.Get("X-RateLimit-Limit") != "45" || h.Get("X-RateLimit-Remaining") != remaining ||
			h.Get("X-RateLimit-Reset") != reset || h.Get("Retry-After") != retry {
			t.Errorf("%d %v; want %d, remaining %s, reset %s, retry %q", rec.Code, h, status, remaining, reset, retry)
		}
	}
	check(times(w, 1, keys, "management"), 200, "44", ends, "")
	w.Advance(1500 * time.Millisecond)
	check(times(w, 44, keys, "management"), 200, "0", ends, "")
	rec := times(w, 1, keys, "management")
	check(rec, 429, "0", ends, "1")
	if code := errCode(t, rec); code != "too_many_requests" {
		t.Error(code)
	}
	w.Advance(499 * time.Millisecond)
	check(times(w, 1, keys, "management"), 429, "0", ends, "1")
	w.Advance(time.Millisecond)
	again := strconv.FormatInt(w.Now().Add(2*time.Second).Unix()+1, 10)
	check(times(w, 1, keys, "management"), 200, "44", again, "")
}

// TestCounters: the catalog, every key, every address and failed keys are counted separately.
func TestCounters(t *testing.T) {
	w := limited(t)
	if rec := times(w, 11, count, "management"); rec.Code != 429 || rec.Header().Get("X-RateLimit-Limit") != "10" {
		t.Errorf("the eleventh catalog request in a second: %d", rec.Code)
	}
	for name, rec := range map[string]*httptest.ResponseRecorder{
		"management beside the catalog": times(w, 45, keys, "management"),
		"another key":                   times(w, 10, count, "other"),
		"no key":                        times(w, 45, keys, ""),
	} {
		if rec.Code == 429 {
			t.Errorf("%s: 429", name)
		}
	}
	if rec := times(w, 1, keys, "Bearer guess"); rec.Code != 429 {
		t.Errorf("the 46th bad key from one address: %d", rec.Code)
	}
	if rec := times(w, 1, keys, "auction"); rec.Code != 429 {
		t.Errorf("a key of the wrong kind counts as a bad one: %d", rec.Code)
	}
	if rec := times(w, 1, keys, "other"); rec.Code != 200 {
		t.Errorf("bad keys of a neighbour shut out a good one: %d", rec.Code)
	}
	w.Advance(time.Second)
	if rec := times(w, 1, count, "management"); rec.Code != 200 {
		t.Errorf("the catalog's window is a second: %d", rec.Code)
	}
}

// TestNotLimited: no limit, no headers.
func TestNotLimited(t *testing.T) {
	w := limited(t)
	for _, path := range []string{"/healthz", "/readyz", "/v2/unknown", "/docs"} {
		if rec := times(w, 60, path, "management"); rec.Code == 429 || rec.Header().Get("X-RateLimit-Limit") != "" {
			t.Errorf("%s: %d %v", path, rec.Code, rec.Header())
		}
	}
	for range 60 {
		if rec := call(w, "OPTIONS", keys, "", ""); rec.Code != 204 || rec.Header().Get("X-RateLimit-Limit") != "" {
			t.Fatalf("OPTIONS: %d", rec.Code)
		}
	}
	off := managetest.NewWith(t, manage.Config{})
	if rec := times(off, 100, keys, "management"); rec.Code != 200 || rec.Header().Get("X-RateLimit-Limit") != "" {
		t.Errorf("zero switches a limit off: %d %v", rec.Code, rec.Header())
	}
}

// TestAddresses: X-Forwarded-For is used only from trusted proxies, and only the part that they wrote.
func TestAddresses(t *testing.T) {
	const peer = "192.0.2.1" // The address of test requests.
	for _, c := range []struct {
		name      string
		trusted   []string
		forwarded func(i int) string
		shared    bool // All requests count as one client.
	}{
		{"nobody is trusted", nil, func(i int) string { return "10.0.0." + strconv.Itoa(i) }, true},
		{"the proxy is trusted", []string{peer}, func(i int) string { return "10.0.0." + strconv.Itoa(i) }, false},
		{"as a range", []string{"192.0.2.0/24"}, func(i int) string { return "10.0.0." + strconv.Itoa(i) }, false},
		{"what the client wrote itself", []string{peer}, func(i int) string { return "10.9.9." + strconv.Itoa(i) + ", 10.0.0.1" }, true},
		{"through two proxies", []string{peer, "10.1.1.1"}, func(i int) string { return "10.0.0." + strconv.Itoa(i) + ", 10.1.1.1" }, false},
		{"nonsense", []string{peer}, func(i int) string { return "client-" + strconv.Itoa(i) }, true},
	} {
		w := managetest.NewWith(t, manage.Config{RateManagement: 5, TrustedProxies: c.trusted})
		last := 0
		for i := range 6 {
			last = times(w, 1, keys, "management", "X-Forwarded-For", c.forwarded(i)).Code
		}
		if (last == 429) != c.shared {
			t.Errorf("%s: the sixth request is %d", c.name, last)
		}
	}
	if _, err := manage.New(manage.Config{TrustedProxies: []string{"proxy.test"}}, manage.Deps{}); err == nil {
		t.Error("a name is no address")
	}
}
