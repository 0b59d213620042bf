package hotpath_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// streamNode answers the streams of bytes of one connection, with the fast path and without it.
type streamNode struct {
	*servingtest.Node
	with, without *hotpath.Server
}

func newStreamNode() *streamNode {
	n := servingtest.New(servingtest.Spec{Bids: 10})
	// The time of an idle connection does not end within a test, so an answer never depends on how busy the machine is.
	options := hotpath.Options{Core: n.Core, Metrics: n.Metrics, Log: n.Deps.Log, NoDate: true, ReadTimeout: time.Hour, IdleTimeout: time.Hour}
	s := &streamNode{Node: n, with: hotpath.New(options)}
	options.WithoutFastPath = true
	s.without = hotpath.New(options)
	return s
}

// serve sends a stream in pieces on a new connection of a server, ends the sending side, and returns all answers in one form: header
// fields sorted, and a star for what is new in each answer, ids and tokens.
func (n *streamNode) serve(s *hotpath.Server, stream []byte, pieces *rand.Rand) string {
	c := &piecesConn{rest: stream, pieces: pieces}
	_ = s.ServeConn(c) // How a connection ended shows in what was written.
	var answers strings.Builder
	for in := bufio.NewReader(&c.out); ; {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			rest, _ := io.ReadAll(in)
			fmt.Fprintf(&answers, "then %v %q", err, rest)
			return fresh.ReplaceAllString(answers.String(), "$1*")
		}
		body, err := io.ReadAll(answer.Body)
		fmt.Fprintf(&answers, "%s %v close=%v %s %v\n", answer.Status, answer.Header, answer.Close, body, err) // Maps print in key order.
	}
}

var fresh = regexp.MustCompile(`(X-Request-Id:\[|"resolvedBidId":"|"requestId":"|"auctionId":")[-_.~A-Za-z0-9]+`)

// piecesConn is a connection whose client sends a stream in pieces of random sizes, all of it at once without a source of them.
type piecesConn struct {
	memoryConn
	rest   []byte
	pieces *rand.Rand
	out    bytes.Buffer
}

func (c *piecesConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := len(c.rest)
	if c.pieces != nil {
		n = min(n, 1+c.pieces.IntN(1<<c.pieces.IntN(12)))
	}
	n = copy(p, c.rest[:n])
	c.rest = c.rest[n:]
	return n, nil
}

func (c *piecesConn) Write(p []byte) (int, error) { return c.out.Write(p) }

var _ net.Conn = (*piecesConn)(nil)

// streamCorpus is the committed corpus: files of raw requests, in which KEY stands for the auction key of the node.
func streamCorpus(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/streams/*.http")
	if err != nil || len(files) == 0 {
		t.Fatal("no streams", err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// A line of the file ends in a line feed, and one of HTTP in CR LF; the two letters \n stand for a line feed alone.
		stream := strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\r\n")
		all[filepath.Base(file)] = []byte(strings.ReplaceAll(stream, `\n`, "\n"))
	}
	return all
}

// TestStreams compares the answers to each stream of the corpus with the fast path and without, in many divisions into pieces.
// It also checks that the corpus has streams that the fast path answers, that fasthttp answers, and that both answer in turn.
func TestStreams(t *testing.T) {
	n := newStreamNode()
	var alone, never, both int
	for name, stream := range streamCorpus(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(50) {
				n.compare(t, stream, seed)
			}
		})
		plain, rest := 0, stream
		for r, ok := hotpath.ReadPlain(rest); ok; r, ok = hotpath.ReadPlain(rest) {
			plain, rest = plain+1, rest[r.Size:]
		}
		switch {
		case plain == 0:
			never++
		case len(rest) == 0:
			alone++
		default:
			both++
		}
	}
	if alone < 3 || never < 3 || both < 3 {
		t.Errorf("%d streams that only the fast path answers, %d that fasthttp answers, %d that both answer: want 3 of each", alone, never, both)
	}
}

// FuzzStreams compares the answers to a stream with the fast path and without, divided into pieces at random, and what the fast
// path reads with what net/http reads.
func FuzzStreams(f *testing.F) {
	n := newStreamNode()
	for _, stream := range streamCorpus(f) {
		f.Add(stream, uint64(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		if len(stream) > 64<<10 {
			return // Long streams find nothing that short ones do not.
		}
		n.compare(t, stream, seed)
	})
}

// compare fails when two of the three readers of a stream disagree.
func (n *streamNode) compare(t *testing.T, stream []byte, seed uint64) {
	t.Helper()
	stream = bytes.ReplaceAll(stream, []byte("KEY"), []byte(n.AuctionKey))
	want := n.serve(n.without, stream, nil)
	for _, pieces := range []*rand.Rand{nil, rand.New(rand.NewPCG(seed, 0))} {
		if got := n.serve(n.with, stream, pieces); got != want {
			t.Fatalf("pieces %v, seed %d, stream %q:\nwith the fast path    %q\nwithout the fast path %q", pieces != nil, seed, stream, got, want)
		}
	}
	netHTTPReadsTheSame(t, stream)
}

// netHTTPReadsTheSame reads the requests at the begin of a stream that the fast path would answer, and compares each with what
// net/http reads from the same bytes.
func netHTTPReadsTheSame(t *testing.T, stream []byte) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(stream))
	for {
		r, ok := hotpath.ReadPlain(stream)
		if !ok {
			return
		}
		want, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("net/http refuses what the fast path reads: %v: %q", err, stream)
		}
		body, err := io.ReadAll(want.Body)
		if err != nil {
			t.Fatalf("net/http does not read the body: %v: %q", err, stream)
		}
		if want.Method != http.MethodPost || want.RequestURI != r.Target || string(body) != r.Body || want.Close ||
			want.Header.Get("Authorization") != r.Authorization || want.Header.Get("X-Request-Id") != r.RequestID ||
			want.Header.Get("Content-Encoding") != r.ContentEncoding || want.Header.Get("Origin") != r.Origin {
			t.Fatalf("the fast path reads %+v, net/http reads %s %s %v %q", r, want.Method, want.RequestURI, want.Header, body)
		}
		stream = stream[r.Size:]
	}
}

// TestIgnoredFields checks that a field that is not on the list of ignored ones leaves the request to fasthttp, and that no
// field of a connection or of framing is on the list.
func TestIgnoredFields(t *testing.T) {
	request := func(field string) []byte {
		return []byte("POST /v2/auctions HTTP/1.1\r\nHost: x\r\n" + field + ": y\r\nContent-Length: 0\r\n\r\n")
	}
	for _, name := range []string{"Accept", "ACCEPT-encoding", "user-agent", "X-Forwarded-For", "traceparent"} {
		if _, ok := hotpath.ReadPlain(request(name)); !ok {
			t.Errorf("%s: fasthttp reads the request", name)
		}
	}
	for _, name := range []string{
		"Accepts", "X", "X-Unknown", "X-HTTP-Method-Override", "Proxy-Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding",
		"Upgrade", "HTTP2-Settings", "Expect", "Content-Range", "Range", "If-Match", "Proxy-Authorization", strings.Repeat("a", 40),
	} {
		if _, ok := hotpath.ReadPlain(request(name)); ok {
			t.Errorf("%s: the fast path reads the request", name)
		}
	}
}
