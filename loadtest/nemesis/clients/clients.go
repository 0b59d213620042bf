// Package clients is all clients of a cluster under test: storefronts that run auctions and report events, purchases and returns, sometimes
// twice or late; an operator who moves money, gives charges back and reads reports, budgets and balances; probes that ask every node all the time whether it serves.
//
// They know addresses, keys and the interface, and record what they do and see in a history. A client never guesses an outcome: a 2xx
// happened, a 4xx did not, everything else is unknown and is repeated with the same ids on any node.
package clients

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

const (
	// exchangeMax is how long a client waits for an answer. BOUND: longer than the 5 s after which a node gives up.
	exchangeMax = 7 * time.Second
	// probeMax is how long a probe waits for an answer before it asks another node.
	probeMax = 1200 * time.Millisecond
	// answerMax bounds the bytes of an answer.
	answerMax = 8 << 20
)

// Node is the addresses of a node.
type Node struct{ AuctionURL, ManageURL string }

// Options say which nodes the clients use and how much they send.
type Options struct {
	Nodes                     []Node
	AuctionKey, ManagementKey string
	EventsPerSecond           int
	Storefronts               int
	Seed                      uint64
	// Ready reports whether a node was ready when it was asked last. Clients mostly choose a ready node, and sometimes any node.
	Ready func(node int) bool
}

// Clients is all clients of one run. Its methods may be called from several goroutines.
type Clients struct {
	o         Options
	h         *history.History
	http      *http.Client
	probeHTTP *http.Client // The client of the probes, with the shorter timeout probeMax.

	market     *market
	bodies     atomic.Int64 // The number of the last body.
	unresolved chan *unresolvedBody
	pending    atomic.Int64 // How many bodies are of unknown outcome.
	exchange   tokenExchange
	bought     purchaseLog
}

// New returns clients that send nothing yet. SetUp has to be called before Run.
func New(o Options, h *history.History) *Clients {
	transport := func() *http.Transport {
		return &http.Transport{
			DialContext:         (&net.Dialer{Timeout: time.Second}).DialContext,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: 10 * time.Second,
		}
	}
	return &Clients{
		o: o, h: h, unresolved: make(chan *unresolvedBody, unresolvedMax+writesMax+100),
		http: &http.Client{Timeout: exchangeMax, Transport: transport()}, probeHTTP: &http.Client{Timeout: probeMax, Transport: transport()},
	}
}

// Run runs all clients until the context ends, and returns when all of them have stopped. Bodies of unknown outcome may be left; Finish
// resolves them.
func (c *Clients) Run(ctx context.Context) {
	var group sync.WaitGroup
	for i := range c.o.Storefronts {
		group.Go(func() { c.newStorefront(i).run(ctx) })
	}
	for i := range retriers {
		group.Go(func() { c.retry(ctx, c.random(1_000+uint64(i))) })
	}
	for i := range c.o.Nodes {
		group.Go(func() { c.watchAuctions(ctx, i) })
	}
	group.Go(func() { c.probeWrites(ctx) })
	group.Go(func() { c.changeBudgets(ctx) })
	group.Go(func() { c.movePayments(ctx) })
	group.Go(func() { c.reverse(ctx) })
	for i := range readers {
		group.Go(func() { c.read(ctx, c.random(2_000+uint64(i))) })
	}
	group.Wait()
}

func (c *Clients) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(c.o.Seed, stream)) }

// pick chooses a random node: in nine of ten cases one that was ready when it was asked last, if there is one.
func (c *Clients) pick(r *rand.Rand) int {
	first := r.IntN(len(c.o.Nodes))
	if r.IntN(10) == 0 {
		return first
	}
	for i := range c.o.Nodes {
		if n := (first + i) % len(c.o.Nodes); c.o.Ready(n) {
			return n
		}
	}
	return first
}

// answer is the answer to a request.
type answer struct {
	status int // 0: there was no answer.
	body   []byte
	err    error
}

// outcome says what an answer means for the operation, by the interface.
func (a answer) outcome() history.Outcome {
	switch {
	case a.status/100 == 2:
		return history.OK
	case a.status/100 == 4 && a.status != http.StatusTooManyRequests && a.status != 499:
		return history.Refused
	}
	return history.Unknown
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d %.300s", a.status, a.body)
}

func (c *Clients) auctionCall(with *http.Client, node int, path string, body []byte) answer {
	return call(with, http.MethodPost, c.o.Nodes[node].AuctionURL+path, c.o.AuctionKey, "", body)
}

func (c *Clients) manage(node int, method, path, idempotency string, body []byte) answer {
	return call(c.http, method, c.o.Nodes[node].ManageURL+"/public/v1"+path, c.o.ManagementKey, idempotency, body)
}

// call makes one request. It does not end with the context of the run: an operation that has begun is waited for, because its outcome
// would be unknown for no reason otherwise.
func call(with *http.Client, method, url, key, idempotency string, body []byte) answer {
	req, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	if idempotency != "" {
		req.Header.Set("Idempotency-Key", idempotency)
	}
	resp, err := with.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }() // The body has been read, or an error is returned.
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil {
		return answer{err: err}
	}
	return answer{status: resp.StatusCode, body: text}
}

// pause waits for a duration. It returns false at once when the context ends.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
