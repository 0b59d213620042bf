package operator

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"
)

// A node makes profiles of itself: each kind in the format of its tool, one CPU profile at a time, and nothing else.
func TestProfiles(t *testing.T) {
	h := Handler(&fakeCluster{}, "http://gavel.test")
	server := httptest.NewServer(h)
	defer server.Close()
	c := Client{URL: server.URL, Key: "key"}
	for _, kind := range ProfileKinds {
		var made bytes.Buffer
		if err := c.Profile(t.Context(), &made, kind, 1); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if kind == "trace" {
			if !bytes.HasPrefix(made.Bytes(), []byte("go 1.")) {
				t.Errorf("the trace begins with %.20q", made.Bytes())
			}
			continue
		}
		z, err := gzip.NewReader(&made)
		if err != nil {
			t.Errorf("%s is not compressed as profiles are: %v", kind, err)
			continue
		}
		if text, err := io.ReadAll(z); err != nil || len(text) == 0 {
			t.Errorf("%s has %d bytes, %v", kind, len(text), err)
		}
	}
	for path, want := range map[string]string{
		"/debug/pprof/symbol":                  "the kinds of profiles are cpu, trace",
		"/debug/pprof/cpu?seconds=31":          "from 1 to 30",
		"/debug/pprof/profile?seconds=0":       "from 1 to 30",
		"/debug/pprof/trace?seconds=1e1":       "from 1 to 30",
		"/debug/pprof/goroutine?seconds=hello": "from 1 to 30",
	} {
		a := httptest.NewRecorder()
		h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), want) {
			t.Errorf("%s: %d %s, want 400 with %q", path, a.Code, a.Body, want)
		}
	}
}

// The profile mutex names the function that held a lock for which another waited.
func TestMutexProfileNamesTheHolder(t *testing.T) {
	SampleContention()
	defer runtime.SetMutexProfileFraction(0)
	server := httptest.NewServer(Handler(&fakeCluster{}, "http://gavel.test"))
	defer server.Close()
	c := Client{URL: server.URL, Key: "key"}
	for seen := false; !seen; { // One wait in contentionEvery is recorded.
		for range contentionEvery {
			holdALock()
		}
		var made bytes.Buffer
		if err := c.Profile(t.Context(), &made, "mutex", 0); err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(&made)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		seen = bytes.Contains(text, []byte("operator.holdALock"))
	}
}

// holdALock holds a lock until another goroutine probably waits for it.
func holdALock() {
	var lock sync.Mutex
	lock.Lock()
	var waiter sync.WaitGroup
	waiter.Go(func() {
		lock.Lock()
		defer lock.Unlock()
	})
	time.Sleep(100 * time.Microsecond)
	lock.Unlock()
	waiter.Wait()
}

// While a CPU profile is being made, another one is refused, and a caller that leaves ends its own.
func TestOneProfileAtATime(t *testing.T) {
	h := Handler(&fakeCluster{}, "http://gavel.test")
	server := httptest.NewServer(h)
	defer server.Close()
	c := Client{URL: server.URL, Key: "key"}
	var made bytes.Buffer
	if err := makeProfileWhile(&made, func() {
		err := c.Profile(t.Context(), io.Discard, "cpu", 1)
		if err == nil || !strings.Contains(err.Error(), "another cpu profile is being made") {
			t.Errorf("a second profile: %v", err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Profile(t.Context(), io.Discard, "cpu", 1); err != nil {
		t.Errorf("after the first: %v", err)
	}
}

// makeProfileWhile makes a CPU profile for as long as do runs.
func makeProfileWhile(to io.Writer, do func()) error {
	if err := pprof.StartCPUProfile(to); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	do()
	return nil
}
