// Package shop is a client of the management API: it fills a node with a market and reads campaigns, balances and reports.
//
// It is written from the interface and shares no code with the node. Amounts are int64 millionths of the major currency unit,
// parsed without a float; the currency is assumed to have two decimals, as that of a new marketplace has.
package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client calls /public/v1 with a management key. It may be used by several goroutines.
type Client struct {
	base, key string
	http      *http.Client
}

// New returns a client of a management listener such as http://127.0.0.1:8081.
func New(base, key string) *Client {
	return &Client{base: base + "/public/v1", key: key, http: &http.Client{Timeout: 30 * time.Second}}
}

// StatusError is an answer with a status that is not 2xx.
type StatusError struct {
	Method, Path string
	Status       int
	Body         string // The first 500 bytes of the answer.
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s answered %d: %s", e.Method, e.Path, e.Status, e.Body)
}

// attemptsMax bounds how often one call is repeated. BOUND: with the 2 s window of the rate limit this takes minutes.
const attemptsMax = 200

// call sends one JSON request, repeats it after Retry-After when it is answered 429 or 503, and decodes a 2xx answer into out unless out is
// nil. An idempotency key makes repeating safe where the operation is not idempotent by itself.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, idempotency string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	for attempt := 1; ; attempt++ {
		wait, err := c.once(ctx, method, target, idempotency, body, out)
		if wait == 0 || attempt == attemptsMax {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// once makes one exchange. It returns a duration above 0 when the request should be repeated after that time.
func (c *Client) once(ctx context.Context, method, target, idempotency string, body []byte, out any) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if idempotency != "" {
		req.Header.Set("Idempotency-Key", idempotency)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode/100 != 2 {
		failure := &StatusError{Method: method, Path: req.URL.Path, Status: resp.StatusCode, Body: string(answer[:min(len(answer), 500)])}
		if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
			return retryAfter(resp.Header), failure
		}
		return 0, failure
	}
	if out == nil {
		return 0, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	if err := decoder.Decode(out); err != nil {
		return 0, fmt.Errorf("%s %s: %w in %.200s", method, target, err, answer)
	}
	return 0, nil
}

// retryAfter reads Retry-After in whole seconds. A missing or invalid one counts as 1 s, one above 10 s as 10 s.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 1
	}
	return time.Duration(min(seconds, 10)) * time.Second
}
