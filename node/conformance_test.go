package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// The conformance tests check a node against the documents of the interface. They send HTTP requests to a real process, on
// both listeners, and use nothing else of it. Each file conformance_*_test.go covers one subject; most cases are in
// tables under testdata/conformance.

// testClient is a client of a node with its first keys.
type testClient struct {
	*testing.T
	node *nodetest.Node
}

// startNode starts a node for a test and returns a client. Management requests are not limited.
func startNode(t *testing.T, args ...string) *testClient {
	t.Helper()
	return &testClient{t, nodetest.Start(t, nodetest.Options{
		Args: append([]string{"--ratelimit-management", "0", "--ratelimit-catalog", "0", "--log-level", "error"}, args...),
	})}
}

// listeners returns the base URLs that serve /v2, by name.
func (s *testClient) listeners() map[string]string {
	return map[string]string{"auction": s.node.AuctionURL, "management": s.node.ManageURL}
}

// inSubtest returns the same client for a subtest.
func (s *testClient) inSubtest(t *testing.T) *testClient { return &testClient{t, s.node} }

// reply is a complete answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// member returns a member of a JSON object, nil if there is none.
func (r reply) member(name string) any {
	var o map[string]any
	if json.Unmarshal(r.body, &o) != nil {
		return nil
	}
	return o[name]
}

func (r reply) errCode() string {
	code, _ := r.member("errCode").(string)
	return code
}

// decode reads the body into v.
func (s *testClient) decode(r reply, v any) {
	s.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		s.Fatalf("%s: %v", r.body, err)
	}
}

// do sends a request to an absolute URL.
func (s *testClient) do(method, url, key, body string, header ...string) reply {
	s.Helper()
	r, err := s.try(method, url, key, body, header...)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// try is do for goroutines other than the test's.
func (s *testClient) try(method, url, key, body string, header ...string) (reply, error) {
	req, err := http.NewRequestWithContext(s.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // It follows no redirect.
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }() // It was read completely.
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, text}, err
}

// manage calls an operation below /public/v1, which must answer with a status.
func (s *testClient) manage(want int, method, path, body string) reply {
	s.Helper()
	r := s.do(method, s.node.ManageURL+"/public/v1/"+path, s.node.Keys.ManagementKey, body)
	if r.status != want {
		s.Fatalf("%s %s %s: %d %s", method, path, body, r.status, r.body)
	}
	return r
}

// v2 posts a body to both listeners and returns both answers, which must have the same status and errCode.
func (s *testClient) v2(path, body string) (answers [2]reply) {
	s.Helper()
	for i, listener := range []string{s.node.AuctionURL, s.node.ManageURL} {
		answers[i] = s.do("POST", listener+path, s.node.Keys.AuctionKey, body)
		s.checkAnswer(answers[i])
	}
	if a, b := answers[0], answers[1]; a.status != b.status || a.errCode() != b.errCode() {
		s.Errorf("the listeners differ: %d %s, %d %s", a.status, a.body, b.status, b.body)
	}
	return answers
}

var requestIDForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// checkAnswer checks what every answer of /v2 must have, errors included.
func (s *testClient) checkAnswer(r reply) {
	s.Helper()
	fields := map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Expose-Headers": "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
	}
	unwanted := []string{"Access-Control-Allow-Credentials", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
	if r.status == http.StatusNoContent {
		unwanted = append(unwanted, "Content-Type", "Content-Length")
	} else {
		fields["Content-Type"], fields["Content-Length"] = "application/json", strconv.Itoa(len(r.body))
	}
	for name, want := range fields {
		if got := r.header.Values(name); len(got) != 1 || got[0] != want {
			s.Errorf("%d %.200s: %s is %q, want %q once", r.status, r.body, name, got, want)
		}
	}
	for _, name := range unwanted {
		if got := r.header.Values(name); len(got) > 0 {
			s.Errorf("%d %.200s: %s is %q, want none", r.status, r.body, name, got)
		}
	}
	if id := r.header.Get("X-Request-Id"); !requestIDForm.MatchString(id) {
		s.Errorf("%d %.200s: X-Request-Id %q is no UUIDv7", r.status, r.body, id)
	}
	if empty := r.status == http.StatusNoContent; len(r.body) == 0 != empty || !empty && !json.Valid(r.body) {
		s.Errorf("%d: the body is no JSON: %q", r.status, r.body)
	}
	if r.status >= 400 {
		s.errorObject(r)
	}
}

// errorObject checks the common form of errors of /v2.
func (s *testClient) errorObject(r reply) {
	s.Helper()
	var members map[string]string
	if err := json.Unmarshal(r.body, &members); err != nil {
		s.Errorf("%d: the error is no object of strings: %s", r.status, r.body)
		return
	}
	want := map[string]string{
		"errCode": members["errCode"], "message": members["message"],
		"docUrl": s.node.ManageURL + "/docs/errors#" + members["errCode"], "error": http.StatusText(r.status),
	}
	if len(members) != len(want) || members["errCode"] == "" || members["message"] == "" ||
		members["docUrl"] != want["docUrl"] || members["error"] != want["error"] {
		s.Errorf("%d: the error object is %s, want docUrl %q and error %q and nothing empty", r.status, r.body, want["docUrl"], want["error"])
	}
}
