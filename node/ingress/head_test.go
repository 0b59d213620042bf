package ingress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp"
)

// follow reads b through a Checker, atOnce bytes at a time. It returns what a server would read, and the ends of the
// requests in it.
func follow(b []byte, atOnce int) (read []byte, ends []int, c *Checker) {
	c = &Checker{}
	from := bytes.NewReader(b)
	for {
		p := make([]byte, min(atOnce, 1<<10))
		before := c.state
		n, err := c.Read(from, p)
		read = append(read, p[:n]...)
		if c.state == beforeRequest && before != beforeRequest && !c.refused {
			ends = append(ends, len(read))
		}
		if err != nil {
			return read, ends, c
		}
	}
}

const (
	head   = "POST /x HTTP/1.1\r\nHost: x\r\n"
	length = head + "Content-Length: 3\r\n\r\nabc"
	chunks = head + "Transfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
)

func TestRequestsPassUnchanged(t *testing.T) {
	stream := length + chunks + "\r\n" + head + "\r\n" + strings.ReplaceAll(head, "\r", "") + "\n" + chunks
	for _, atOnce := range []int{1, 2, 3, 7, 1000} {
		read, ends, c := follow([]byte(stream), atOnce)
		if string(read) != stream || c.Refused() {
			t.Errorf("%d bytes at a time: %q", atOnce, read)
		}
		if want := 5; atOnce == 1 && len(ends) != want {
			t.Errorf("%d requests, want %d", len(ends), want)
		}
	}
}

// TestRefusalReplacesTheRest checks that the bytes before a refused one are passed, then refusal follows, then nothing.
func TestRefusalReplacesTheRest(t *testing.T) {
	for _, atOnce := range []int{1, 2, 5, 1000} {
		read, _, c := follow([]byte(length+head+"A B: c\r\n\r\n"+length), atOnce)
		if want := length + head + "A" + refusal; string(read) != want || !c.Refused() {
			t.Errorf("%d bytes at a time: %q, want %q", atOnce, read, want)
		}
	}
}

// TestNoAllocation checks that a Checker allocates nothing.
func TestNoAllocation(t *testing.T) {
	var c Checker
	from, p := strings.NewReader(""), make([]byte, 256)
	if n := testing.AllocsPerRun(100, func() {
		from.Reset(chunks)
		if n, _ := c.Read(from, p); n != len(chunks) {
			t.Fatal("a valid request is refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzChecker compares a Checker with the readers of both servers. A request that it passes and that they accept must have the
// same end for all. Where it refuses, they must refuse the bytes that it returns instead. The result must not depend on the
// pieces in which the bytes come.
func FuzzChecker(f *testing.F) {
	for _, s := range []string{
		length, chunks, length + chunks + length, head + "A: b\r\n c\r\n\r\n", head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
		head + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", head + "Transfer-Encoding: chunked\r\n\r\n1 ; x\r\na\r\n00\r\n\r\n",
		"GET / HTTP/1.0\n\n", head + "Expect: 100-continue\r\nContent-Length: 1\r\n\r\na" + head, head + "transfer-Encoding:  CHUNKED \n\n0\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2000 {
			return
		}
		read, ends, c := follow(b, 1)
		if whole, _, _ := follow(b, len(b)+1); !bytes.Equal(read, whole) {
			t.Fatalf("in pieces %q, at once %q", read, whole)
		}
		from := 0
		for _, end := range ends {
			request := bytes.TrimLeft(read[from:end], "\r\n")
			if !endsForNetHTTP(t, request) || !endsForFasthttp(t, request) {
				return
			}
			from = end
		}
		if c.Refused() && wholeForNetHTTP(read[from:]) {
			t.Errorf("net/http accepts what was refused: %q", read[from:])
		}
	})
}

// endsForNetHTTP reports whether net/http accepts a request. It then must read all bytes of the request and no more.
func endsForNetHTTP(t *testing.T, request []byte) bool {
	in := bufio.NewReader(io.MultiReader(bytes.NewReader(request), iotest.ErrReader(io.ErrClosedPipe)))
	r, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, r.Body); errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("net/http reads beyond the request: %q", request)
	} else if err != nil {
		return false
	}
	if in.Buffered() != 0 {
		t.Errorf("net/http leaves %d bytes of %q", in.Buffered(), request)
	}
	return true
}

func endsForFasthttp(t *testing.T, request []byte) bool {
	var r fasthttp.Request
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(request), iotest.ErrReader(io.ErrClosedPipe)), 16<<10)
	if err := r.ReadLimitBody(in, 1<<20); err != nil {
		return false
	}
	if r.MayContinue() {
		return true // fasthttp has not read the body yet.
	}
	if in.Buffered() != 0 {
		t.Errorf("fasthttp leaves %d bytes of %q", in.Buffered(), request)
	}
	return true
}

// wholeForNetHTTP reports whether net/http finds a complete request at the beginning.
func wholeForNetHTTP(b []byte) bool {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err == nil
}
