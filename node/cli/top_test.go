package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// gavel top prints as many views as asked for, of all nodes, and fails when none of them answers.
func TestTop(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte("# TYPE gavel_ready gauge\ngavel_ready 1\n"))
	}))
	defer node.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	r := gavel(nil, "top", "--interval", "100ms", "--count", "2", node.URL, gone.URL)
	if r.code != exitSuccess || strings.Count(r.out, "NODE ") != 2 || strings.Count(r.out, node.URL+"  ready") != 2 ||
		strings.Count(r.out, gone.URL+"  no answer: ") != 2 || strings.Contains(r.out, clearScreen) {
		t.Errorf("of two views with one dead node: %+v", r)
	}
	if r := gavel(nil, "top", "--interval", "100ms", "--count", "1", gone.URL); r.code != exitFailed || !strings.Contains(r.err, "no node answers") {
		t.Errorf("of a dead node: %+v", r)
	}
	for _, args := range [][]string{{"--interval", "1ms"}, {"--count", "-1"}} {
		if r := gavel(nil, append([]string{"top"}, args...)...); r.code != exitUsage {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
