// Package outbound sends signed notifications to addresses that clients have named: webhooks, and the connectors of ad
// networks. It is the only way out of a node for such an address.
package outbound

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// Bounds of one attempt.
const (
	Timeout   = 5 * time.Second // BOUND: of the interface.
	answerMax = 64 << 10        // BOUND: what is read of an answer, to keep the connection.
	headMax   = 16 << 10        // BOUND: its headers.
	idleMax   = 8               // BOUND: connections kept open.
)

// Client sends. It is safe for concurrent use.
//
// INVARIANT: no byte goes to an address that is not public. The check stands behind the resolver, in the moment in which a
// socket is about to connect, so it judges the very address that is used: a name that resolves to another address the
// second time (rebinding) gains nothing. No proxy of the environment is used, and redirects are not followed.
type Client struct {
	http        *http.Client
	development bool
}

// New returns a client. Development lets it speak plain http with this machine.
func New(development bool) *Client {
	dialer := &net.Dialer{Timeout: Timeout, Control: func(_, address string, _ syscall.RawConn) error {
		return allowed(address, development)
	}}
	return &Client{development: development, http: &http.Client{
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: Timeout, MaxResponseHeaderBytes: headMax,
			MaxIdleConns: idleMax, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
		},
	}}
}

// Errors of Post, beside those that may pass.
var (
	// ErrRefused is an answer that repeating will not change: 3xx or 4xx.
	ErrRefused = errors.New("the receiver refused")
	// ErrForbidden is an address that nothing is sent to.
	ErrForbidden = errors.New("the address is not public")
)

// Permanent reports whether repeating is useless.
func Permanent(err error) bool { return errors.Is(err, ErrRefused) || errors.Is(err, ErrForbidden) }

// Signature is the value of the header that proves where a body comes from.
func Signature(secret string, body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}

// SignatureHeader carries it.
const SignatureHeader = "X-TS-Signature-256"

// Post sends a JSON body. It returns nil for 2xx.
func (c *Client) Post(ctx context.Context, target, secret string, body []byte) error {
	if err := Check(target, c.development); err != nil {
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "gavel")
	r.Header.Set(SignatureHeader, Signature(secret, body))
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, answer.Body, answerMax) // Whatever it says.
	_ = answer.Body.Close()
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status >= 500 || status == http.StatusTooManyRequests:
		return answered{status, false}
	default:
		return answered{status, true}
	}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
