package blob

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

const sent = "what was sent"

// putRequest is the bytes of a request that stores a file, each byte of which is a piece of six.
func putRequest(t *testing.T, name string) []byte {
	t.Helper()
	body := newSender(iotest.OneByteReader(strings.NewReader(sent)))
	body.progress, body.trailer = func() {}, http.Header{digestField: nil}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://files/"+name, io.NopCloser(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Trailer, r.ContentLength = body.trailer, -1
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serveBytes sends bytes to a node, closes the connection a second later, and returns what the node answers. It needs a bubble of
// synctest, in which the second takes no time.
func serveBytes(s *Shared, text []byte) []byte {
	here, there := net.Pipe()
	var all sync.WaitGroup
	all.Go(func() {
		_, _ = here.Write(text) // The server may close the connection in the middle.
		time.Sleep(time.Second)
		_ = here.Close()
	})
	var answer []byte
	all.Go(func() { answer, _ = io.ReadAll(here) }) // Up to the end of the connection, whatever ends it.
	s.Serve(there)
	_ = there.Close()
	all.Wait()
	return answer
}

// TestDamage: a request whose file is cut off at any byte, or in which any byte is changed, stores nothing, or the file itself if the
// byte does not matter.
func TestDamage(t *testing.T) { synctest.Test(t, testDamage) }

func testDamage(t *testing.T) {
	a := newNetwork(t, "a", "b").nodes["a"]
	name := Name("a", 1)
	request := putRequest(t, name)
	head := bytes.Index(request, []byte("\r\n\r\n")) + 4
	for at := range request {
		damaged := bytes.Clone(request)
		damaged[at] ^= 1
		for what, text := range map[string][]byte{"cut": request[:at], "changed": damaged} {
			serveBytes(a, text)
			stored := content(t, a.local, name)
			if stored != ErrNotFound.Error() && (what == "cut" || at >= head || stored != sent) {
				t.Errorf("%s at byte %d of %d, %q is stored", what, at, len(request), stored)
			}
			if err := a.local.Remove(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	serveBytes(a, request)
	if stored := content(t, a.local, name); stored != sent {
		t.Errorf("the whole: %q", stored)
	}
}

// peer is the only other node of a cluster. Its connections go to serve.
type peer struct{ serve func(net.Conn) }

func (p peer) Voters() (int, bool, []string) { return 2, true, []string{"b"} }

func (p peer) Dial(context.Context, string) (net.Conn, error) {
	here, there := net.Pipe()
	go p.serve(there)
	return here, nil
}

// beside returns a node beside another one that a function plays.
func beside(t *testing.T, serve func(net.Conn)) *Shared {
	t.Helper()
	dir, err := OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return NewShared(dir, peer{serve}, slog.New(slog.DiscardHandler))
}

// TestDamagedAnswers: an answer whose file is cut off at any byte, or in which any byte is changed, is not stored.
func TestDamagedAnswers(t *testing.T) { synctest.Test(t, testDamagedAnswers) }

func testDamagedAnswers(t *testing.T) {
	b := newNetwork(t, "a", "b").nodes["b"]
	name := Name("a", 1)
	if err := b.local.Put(t.Context(), name, strings.NewReader(sent)); err != nil {
		t.Fatal(err)
	}
	whole := serveBytes(b, []byte("GET /"+name+" HTTP/1.1\r\nHost: files\r\n\r\n"))
	head := bytes.Index(whole, []byte("\r\n\r\n")) + 4
	var answer []byte
	a := beside(t, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			t.Error(err)
		}
		_, _ = c.Write(answer) // The node may close the connection in the middle.
		_ = c.Close()
	})
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1
		for what, text := range map[string][]byte{"cut": whole[:at], "changed": damaged} {
			answer = text
			err := a.pull(t.Context(), "b", name)
			stored := content(t, a.local, name)
			if (err == nil) != (stored == sent) || err == nil && (what == "cut" || at >= head) {
				t.Errorf("%s at byte %d of %d, %q is stored: %v", what, at, len(whole), stored, err)
			}
			if err := a.local.Remove(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	answer = whole
	if err := a.pull(t.Context(), "b", name); err != nil || content(t, a.local, name) != sent {
		t.Errorf("the whole: %v", err)
	}
	answer = append([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), make([]byte, fileMax+1)...)
	if err := a.pull(t.Context(), "b", name); !errors.Is(err, errTooLarge) {
		t.Errorf("a file over the bound: %v", err)
	}
}

// TestSlowPeers: a peer that stops at any point of an exchange holds it for stallTimeout, and one that is slow is waited for.
func TestSlowPeers(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"reads nothing": func(net.Conn) {},
		"answers nothing": func(c net.Conn) {
			_, _ = io.Copy(io.Discard, c)
		},
		"stops in the head": func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, "HTTP/1.1 200 O")
		},
		"stops in the file": func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := beside(t, func(c net.Conn) {
					serve(c)
					time.Sleep(time.Hour)
					_ = c.Close()
				})
				began := time.Now()
				if err := a.pull(t.Context(), "b", Name("a", 1)); err == nil || time.Since(began) != stallTimeout {
					t.Errorf("pull: %v after %s", err, time.Since(began))
				}
				file := Name("a", 2)
				if err := a.local.Put(t.Context(), file, strings.NewReader(strings.Repeat("x", 1<<20))); err != nil {
					t.Fatal(err)
				}
				began = time.Now()
				err := a.push(t.Context(), "b", file)
				if took := time.Since(began); err == nil && name != "stops in the file" || took > stallTimeout {
					t.Errorf("push: %v after %s", err, took)
				}
				time.Sleep(2 * time.Hour) // Until the peer has closed its connections.
			})
		})
	}
}

// TestServeIsBounded: a request that stops holds its place for stallTimeout, a slow one is served to its end, and what is beyond the
// bound is closed at once.
func TestServeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := beside(t, nil)
		name := Name("a", 1)
		request := putRequest(t, name)
		began := time.Now()
		here, there := net.Pipe()
		go func() {
			for i := range request[:20] { // A byte each second, which are not the whole head.
				time.Sleep(time.Second)
				_, _ = here.Write(request[i : i+1])
			}
		}()
		a.Serve(there)
		if took := time.Since(began); took > 2*stallTimeout { // The second one is for the answer, which nobody reads.
			t.Errorf("a slow head holds its place for %s", took)
		}
		_ = here.Close()
		time.Sleep(time.Minute) // Until all bytes were tried.

		head := bytes.Index(request, []byte("\r\n\r\n")) + 4
		for what, pieces := range map[string]int{"slow": len(sent), "stopped": len(sent) - 1} {
			began = time.Now()
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, here) }()
			go func() {
				_, _ = here.Write(request[:head])
				for i := range pieces {
					time.Sleep(stallTimeout * 3 / 4)
					_, _ = here.Write(request[head+6*i : head+6*i+6])
				}
				if pieces == len(sent) {
					_, _ = here.Write(request[head+6*pieces:])
				}
			}()
			a.Serve(there)
			if stored := content(t, a.local, name); (stored == sent) != (what == "slow") {
				t.Errorf("%s: %q is stored after %s", what, stored, time.Since(began))
			}
			if took, want := time.Since(began), time.Duration(pieces)*stallTimeout*3/4; took < want || took > want+stallTimeout {
				t.Errorf("%s: it took %s", what, took)
			}
			if err := a.local.Remove(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			_ = here.Close()
		}

		var waiting []net.Conn
		for range servedMax {
			here, there := net.Pipe()
			waiting = append(waiting, here)
			go a.Serve(there)
		}
		synctest.Wait()
		here, there = net.Pipe()
		began = time.Now()
		a.Serve(there)
		if _, err := here.Read(make([]byte, 1)); err == nil || time.Since(began) != 0 {
			t.Errorf("a connection beyond the bound: %v after %s", err, time.Since(began))
		}
		for _, c := range waiting {
			_ = c.Close()
		}
		synctest.Wait()
	})
}

// TestStrangeRequests: malformed requests leave nothing, and no name leads out of the directory.
func TestStrangeRequests(t *testing.T) { synctest.Test(t, testStrangeRequests) }

func testStrangeRequests(t *testing.T) {
	a := newNetwork(t, "a", "b").nodes["a"]
	for text, status := range map[string]string{
		"":                             "",
		"PUT":                          "",
		"\x16\x03\x01\x02\x00\r\n\r\n": "400",
		"PUT /../x HTTP/1.1\r\nHost: files\r\nContent-Length: 1\r\n\r\nx":                  "400",
		"PUT /%2e%2e%2fx HTTP/1.1\r\nHost: files\r\nContent-Length: 1\r\n\r\nx":            "400",
		"PUT /a0001-name HTTP/1.1\r\nHost: files\r\nContent-Length: 1\r\n\r\nx":            "500", // Without a hash.
		"POST /a0001-name HTTP/1.1\r\nHost: files\r\nContent-Length: 1\r\n\r\nx":           "405",
		"GET /a0001-name HTTP/1.1\r\nHost: files\r\n\r\n":                                  "404",
		"GET / HTTP/1.1\r\nHost: files\r\n\r\n":                                            "400",
		"GET /a HTTP/1.1\r\nHost: files\r\nX: " + strings.Repeat("x", 16<<10) + "\r\n\r\n": "431",
	} {
		answer := string(serveBytes(a, []byte(text)))
		if _, after, _ := strings.Cut(answer, "HTTP/1.1 "); !strings.HasPrefix(after, status) || (status == "") != (answer == "") {
			t.Errorf("%.60q is answered %q", text, answer)
		}
	}
	if err := a.Walk(t.Context(), func(name string, _ time.Time) error { return errors.New(name) }); err != nil {
		t.Error(err)
	}
}
