package driver_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

func TestExchangesKeepTheConnection(t *testing.T) {
	connections := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer k" || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
		}
		if r.URL.Path == "/created" {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write(append([]byte(r.URL.Path+" "), body...))
	}))
	defer server.Close()
	c, err := driver.NewConn(server.URL, "k", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, body := range []string{"", "x", strings.Repeat("long ", 300), "y"} {
		status, answer, err := c.Post("/a", []byte(body))
		if err != nil || status != 200 || string(answer) != "/a "+body {
			t.Fatalf("%d %q %v", status, answer, err)
		}
	}
	if status, _, err := c.Post("/created", nil); status != 201 || err != nil {
		t.Fatalf("%d %v", status, err)
	}
	if len(connections) != 1 {
		t.Fatalf("%d connections, want 1", len(connections))
	}
}

// peer answers the first request of each connection with fixed bytes and closes.
func peer(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(s)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(s, answer)
			_ = s.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestAnswersThatAreNotWholeAreErrors(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":       "",
		"half a head":   "HTTP/1.1 200 OK\r\nContent-Le",
		"half a body":   "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}",
		"no length":     "HTTP/1.1 200 OK\r\n\r\n{}",
		"chunked":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"not http":      "SSH-2.0-x\r\n\r\n",
		"bad length":    "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
		"gigantic":      "HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n{}",
		"endless line":  "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10),
		"status no int": "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n",
	} {
		c, err := driver.NewConn(peer(t, answer), "k", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if status, body, err := c.Post("/", []byte("{}")); err == nil {
			t.Errorf("%s: %d %q", name, status, body)
		}
	}
}

func TestOddAnswersThatAreWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		status int
		body   string
	}{
		"continue first": {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", 200, "{}"},
		"close":          {"HTTP/1.1 503 No\r\nConnection: close\r\nContent-LENGTH:  2 \r\n\r\n{}", 503, "{}"},
		"no content":     {"HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
	} {
		c, err := driver.NewConn(peer(t, tc.answer), "k", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		status, body, err := c.Post("/", nil)
		if err != nil || status != tc.status || string(body) != tc.body {
			t.Errorf("%s: %d %q %v", name, status, body, err)
		}
	}
}

func TestDialsAgainAfterAnError(t *testing.T) {
	c, err := driver.NewConn(peer(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), "k", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Post("/", nil); err != nil {
		t.Fatal(err)
	}
	// The peer has closed the connection. The second exchange fails and is not repeated; the third dials.
	if _, _, err := c.Post("/", nil); err == nil {
		t.Fatal("an exchange on a closed connection succeeded")
	}
	if _, _, err := c.Post("/", nil); err != nil {
		t.Fatal(err)
	}
}

func TestSilentPeerTimesOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := driver.NewConn("http://"+l.Addr().String(), "k", 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Post("/", nil)
	if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
		t.Fatalf("%v, want a timeout", err)
	}
}

func TestBaseAddresses(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:80", "https://h", "http://", "ftp://h"} {
		if _, err := driver.NewConn(base, "k", time.Second); err == nil {
			t.Errorf("%q was accepted", base)
		}
	}
}
