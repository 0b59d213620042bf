package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// gavel profile writes what the node answers, with its key, and refuses what no node answers.
func TestProfile(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/debug/pprof/heap?seconds=3" || r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte("a profile"))
	}))
	defer node.Close()
	file := filepath.Join(t.TempDir(), "heap.pprof")
	at := []string{"--manage", node.URL, "--key", "k", "--out", file}
	r := gavel(nil, append([]string{"profile", "heap", "--seconds", "3"}, at...)...)
	if text, err := os.ReadFile(file); r.code != exitSuccess || err != nil || string(text) != "a profile" {
		t.Errorf("%+v, %q, %v", r, text, err)
	}
	for _, args := range [][]string{{"heap"}, {"symbol", "--force"}, {"cpu", "--seconds", "31", "--force"}} {
		if r := gavel(nil, append(append([]string{"profile"}, args...), at...)...); r.code != exitUsage {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := gavel(nil, append([]string{"profile", "cpu", "--force"}, at...)...); r.code != exitFailed {
		t.Errorf("a refusal: %+v", r)
	}
	if text, _ := os.ReadFile(file); string(text) != "a profile" {
		t.Errorf("the refusal changed the file to %q", text)
	}
}
