package attack

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// sourcesMax is how many addresses of this machine the attackers come from: 127.0.1.1 to 127.0.1.20.
const sourcesMax = 20

// Sources dials from these addresses in turn, because limits per address are part of what is tested. It may be used by several goroutines.
type Sources struct {
	next atomic.Uint64
}

// NewSources returns sources that begin with the address of this number.
func NewSources(first int) *Sources {
	s := &Sources{}
	s.next.Store(uint64(first))
	return s
}

const (
	dialMax     = 2 * time.Second
	exchangeMax = 20 * time.Second // BOUND: how long an attacker waits for an answer.
	answerMax   = 8 << 20          // BOUND: bytes of an answer that are read.
	burstMax    = 400              // BOUND: connections of one client, for as many requests at once.
)

// Dial opens a TCP connection from the next address.
func (s *Sources) Dial(ctx context.Context, address string) (net.Conn, error) {
	n := s.next.Add(1)
	d := net.Dialer{Timeout: dialMax, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+n%sourcesMax))}}
	return d.DialContext(ctx, "tcp", address)
}

// Client is a JSON client of one listener that connects from all addresses. It may be used by several goroutines.
type Client struct {
	base, key string
	http      *http.Client
}

// NewClient returns a client of a listener; an empty key sends none.
func NewClient(address, key string, from *Sources) *Client {
	return &Client{"http://" + address, key, &http.Client{Timeout: exchangeMax, Transport: &http.Transport{
		DialContext:         func(ctx context.Context, _, address string) (net.Conn, error) { return from.Dial(ctx, address) },
		MaxIdleConnsPerHost: sourcesMax, MaxConnsPerHost: burstMax, DisableCompression: true,
	}}}
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call sends one request and returns the status and the answer. Headers are names and values in turn.
func (c *Client) Call(ctx context.Context, method, path string, body []byte, headers ...string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if len(answer) == answerMax {
		err = fmt.Errorf("%s %s: the answer has %d bytes or more", method, path, answerMax)
	}
	return resp.StatusCode, answer, errors.Join(err, resp.Body.Close())
}

// Need sends a request that an attack depends on. It repeats it after 429 and 503, and returns an error for any other status than 2xx.
func (c *Client) Need(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	for {
		status, answer, err := c.Call(ctx, method, path, body)
		switch {
		case err != nil:
			return nil, err
		case status/100 == 2:
			return answer, nil
		case status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable:
			return nil, fmt.Errorf("%s %s answered %d: %.300s", method, path, status, answer)
		case !pause(ctx, 500*time.Millisecond):
			return nil, ctx.Err()
		}
	}
}

// raw sends bytes on a new connection. It returns what is answered until the node closes the connection or the timeout has passed, and
// whether the node closed it.
func (e *Env) raw(ctx context.Context, address string, request []byte, timeout time.Duration) (answer []byte, closed bool, err error) {
	c, err := e.From.Dial(ctx, address)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = c.Close() }() // The connection is not used any more.
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, false, err
	}
	if _, err := c.Write(request); err != nil {
		return nil, true, nil // The node closed the connection during the write, which is a refusal.
	}
	answer, err = io.ReadAll(io.LimitReader(c, 64<<10))
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return answer, false, nil
	}
	return answer, true, nil
}

// statusOf returns the status of the first answer in the bytes that were read; 0: there is no answer.
func statusOf(answer []byte) int {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close() // The body is in memory.
	return resp.StatusCode
}

// keepConnections keeps n connections to an address open and opens a new one for each that the node closes, until the context ends. begin writes
// the first bytes of a connection, tick writes more about every second; each may be nil.
func (e *Env) keepConnections(ctx context.Context, name, address string, n int, begin, tick func(c net.Conn) error) {
	pace := make(chan struct{})
	go paceDials(ctx, pace)
	var open atomic.Int64
	several(n, func(int) {
		for {
			select {
			case <-pace:
			case <-ctx.Done():
				return
			}
			c, err := e.From.Dial(ctx, address)
			if err != nil {
				e.Tally.Add(label("refused", name), 1)
				continue
			}
			e.Tally.Add(label("opened", name), 1)
			e.Tally.setMax(label("most held", name), open.Add(1))
			keepOpen(ctx, c, begin, tick)
			open.Add(-1)
			_ = c.Close() // The connection has no other use.
			if ctx.Err() == nil {
				e.Tally.Add(label("closed by the node", name), 1)
			}
		}
	})
}

// dialsPerSecond bounds how many connections a second are opened to one listener. BOUND: the CPU time of the attackers, which node and
// storefront would miss.
const dialsPerSecond = 200

// paceDials sends to a channel dialsPerSecond times a second until the context ends.
func paceDials(ctx context.Context, pace chan<- struct{}) {
	ticker := time.NewTicker(time.Second / dialsPerSecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		select {
		case pace <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// keepOpen keeps one connection until the node closes it or the context ends.
func keepOpen(ctx context.Context, c net.Conn, begin, tick func(c net.Conn) error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	if begin != nil && begin(c) != nil {
		return
	}
	buffer := make([]byte, 512)
	for ctx.Err() == nil {
		if tick != nil {
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
		}
		_, err := c.Read(buffer)
		var late net.Error
		switch {
		case err == nil:
		case errors.As(err, &late) && late.Timeout() && tick != nil && ctx.Err() == nil:
			if tick(c) != nil {
				return
			}
		default:
			return
		}
	}
}

// label joins the words of a counter's name.
func label(what, name string) string {
	if name == "" {
		return what
	}
	return what + " " + name
}
