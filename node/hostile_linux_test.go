package main_test

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// withFileLimit returns a program that runs gavel with a limit of open files.
func withFileLimit(t *testing.T, files int) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "gavel-limited")
	text := fmt.Sprintf("#!/bin/sh\nulimit -n %d\nexec '%s' \"$@\"\n", files, nodetest.Binary(t))
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil { // It has to be executable.
		t.Fatal(err)
	}
	return script
}

// connect opens n connections and sends text on each. They stay until the test ends.
func connect(t *testing.T, base string, n int, text string) []net.Conn {
	t.Helper()
	var all []net.Conn
	for range n {
		c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, text) // The node may have closed it already.
		all = append(all, c)
	}
	return all
}

// A node with 256 files and more silent connections than files on each listener continues to work: it answers requests
// with keys on both, on existing connections and on new ones.
func TestSilentConnectionsEndNothing(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Binary: withFileLimit(t, 256)})
	ask := func(client *http.Client, when string) {
		t.Helper()
		for _, c := range []struct {
			method, url, key, body string
			status                 int
		}{
			{"POST", n.AuctionURL + "/v2/auctions", n.Keys.AuctionKey, `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`, 201},
			{"GET", n.ManageURL + "/public/v1/catalog-search-service/catalogs/categories/count", n.Keys.ManagementKey, "", 200},
		} {
			req, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+c.key)
			answer, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode != c.status {
				t.Errorf("%s: %s: %d, want %d", when, c.url, answer.StatusCode, c.status)
			}
		}
	}
	before := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}
	ask(before, "before")
	for _, url := range []string{n.AuctionURL, n.ManageURL} {
		connect(t, url, 300, "")
		connect(t, url, 300, "POST /v2/auctions HTTP/1.1\r\nHo")
		connect(t, url, 300, "")
	}
	ask(before, "with silent connections")
	ask(&http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}, "on new connections")
	if err := n.Terminate(); err != nil {
		t.Error(err)
	}
}

// Without a valid key neither listener waits for a body, reads or stores it, also with Expect: 100-continue.
func TestKeysComeBeforeBodies(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	for _, base := range []string{n.AuctionURL, n.ManageURL} {
		for _, head := range []string{
			"POST /v2/auctions HTTP/1.1\r\nHost: x\r\nContent-Length: 4194304\r\n\r\n",
			"POST /v2/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
			"POST /v2/events HTTP/1.1\r\nHost: x\r\nContent-Length: 4194304\r\nExpect: 100-continue\r\n\r\n",
			"POST /public/v1/campaign-service/campaigns HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n\r\n",
		} {
			want := http.StatusUnauthorized
			if base == n.AuctionURL && strings.Contains(head, "/public/") {
				want = http.StatusNotFound
			}
			c := connect(t, base, 1, head)[0]
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Errorf("%.60q: no answer: %v", head, err)
				continue
			}
			if answer.StatusCode != want || !answer.Close {
				t.Errorf("%.60q: %d, closed: %v, want %d and closed", head, answer.StatusCode, answer.Close, want)
			}
		}
	}
}

// A request with an invented X-Gavel-Token holds no body: the wait for the token comes before the body is requested,
// and the number of waiting requests of a marketplace is bounded.
func TestInventedTokensHoldNoBodies(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	token := base64.RawURLEncoding.EncodeToString(binary.AppendUvarint([]byte{1, 1}, 1<<40)) // Version 1, group 1.
	head := "POST /public/v1/campaign-service/campaigns HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + n.Keys.ManagementKey +
		"\r\nX-Gavel-Token: " + token + "\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n"
	all := connect(t, n.ManageURL, 80, head)
	refused, asked := 0, 0
	for _, c := range all {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(line, "HTTP/1.1 503 "):
			refused++
		case strings.HasPrefix(line, "HTTP/1.1 100 "):
			asked++
		case !strings.HasPrefix(line, "HTTP/1.1 429 "):
			t.Errorf("answered %q", line)
		}
	}
	if asked > 0 || refused == 0 {
		t.Errorf("%d bodies were asked for, %d requests were refused with 503", asked, refused)
	}
}
