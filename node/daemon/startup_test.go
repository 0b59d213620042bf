package daemon

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A node that waits for its founders answers with the header fields that every answer has, so that a page can read the 503
// and a client finds its request again.
func TestAWaitingNodeAnswersWithEveryHeader(t *testing.T) {
	const readable = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After"
	minted := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for name, row := range map[string]struct {
		pages, management      []string
		method, path, origin   string
		status                 int
		allowed, vary, exposed string
	}{
		"an auction":               {[]string{"*"}, nil, "POST", "/v2/auctions", "https://a.example", 503, "*", "", readable},
		"a path with two slashes":  {[]string{"*"}, nil, "POST", "//v2/auctions", "", 503, "*", "", readable},
		"a preflight":              {[]string{"*"}, nil, "OPTIONS", "/v2/events", "https://a.example", 204, "*", "", ""},
		"a listed origin":          {[]string{"https://a.example"}, nil, "POST", "/v2/events", "https://a.example", 503, "https://a.example", "Origin", readable},
		"another origin":           {[]string{"https://a.example"}, nil, "POST", "/v2/events", "https://b.example", 503, "", "Origin", ""},
		"the dialog":               {[]string{"*"}, nil, "GET", "/public/v1/modal-service/vendors/v/default-budget", "", 503, "*", "", readable},
		"management":               {[]string{"*"}, nil, "GET", "/public/v1/key-service/keys", "https://a.example", 503, "", "", ""},
		"management, an encoded p": {[]string{"*"}, nil, "GET", "/%70ublic/v1/key-service/keys", "https://a.example", 503, "", "", ""},
		"management, listed":       {[]string{"*"}, []string{"https://a.example"}, "GET", "/public/v1/key-service/keys", "https://a.example", 503, "https://a.example", "Origin", readable},
		"readiness":                {[]string{"*"}, nil, "GET", "/readyz", "", 503, "*", "", readable},
		"health":                   {[]string{"*"}, nil, "GET", "/healthz", "", 200, "*", "", readable},
	} {
		t.Run(name, func(t *testing.T) {
			w := startupServer{log: slog.New(slog.DiscardHandler), url: "http://gavel.example", cors: newStartupCORS(row.pages, row.management)}
			w.setReason("waiting for n2")
			for _, id := range []string{"", "r-1", "no id"} {
				r := httptest.NewRequest(row.method, row.path, strings.NewReader("{}"))
				r.Header.Set("Origin", row.origin)
				r.Header.Set("X-Request-Id", id)
				rec := httptest.NewRecorder()
				w.ServeHTTP(rec, r)
				answer := rec.Result()
				body, _ := io.ReadAll(answer.Body) // From memory.
				want := map[string]string{
					"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": row.allowed,
					"Access-Control-Expose-Headers": row.exposed, "Vary": row.vary, "Connection": "close",
				}
				if row.status != http.StatusNoContent {
					want["Content-Type"], want["Content-Length"] = "application/json", strconv.Itoa(len(body))
				} else {
					want["Access-Control-Allow-Methods"] = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
				}
				for field, value := range want {
					if got := strings.Join(answer.Header.Values(field), "; "); got != value {
						t.Errorf("%s is %q, want %q", field, got, value)
					}
				}
				if got := answer.Header.Get("X-Request-Id"); id == "r-1" && got != id || id != "r-1" && !minted.MatchString(got) {
					t.Errorf("X-Request-Id is %q for %q", got, id)
				}
				after, err := strconv.Atoi(answer.Header.Get("Retry-After"))
				if (row.status == http.StatusServiceUnavailable) != (err == nil && after >= 1 && after <= 3) {
					t.Errorf("Retry-After is %q with status %d", answer.Header.Get("Retry-After"), answer.StatusCode)
				}
				if answer.StatusCode != row.status || row.status == 503 && !strings.Contains(string(body), "waiting for n2") {
					t.Errorf("%d %s, want %d", answer.StatusCode, body, row.status)
				}
			}
		})
	}
}
