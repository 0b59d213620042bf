package delivery

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
	Timeout   = 5 * time.Second // BOUND: the whole attempt. It is the interface's.
	answerMax = 64 << 10        // BOUND: bytes of an answer that are read, so that the connection can be used again.
	headMax   = 16 << 10        // BOUND: bytes of an answer's headers.
	idleMax   = 8               // BOUND: idle connections.
)

// Client sends notifications. It is safe for concurrent use.
//
// INVARIANT: no byte goes to an address that is not public. The dialer checks the resolved address right before the socket
// connects, so the check covers the very address that is used; a name that resolves to another address the second time (DNS
// rebinding) is refused as well. No proxy of the environment is used, and redirects are not followed.
type Client struct {
	http        *http.Client
	development bool
}

// NewClient returns a client. development allows plain http, and connections to this machine.
func NewClient(development bool) *Client {
	dialer := &net.Dialer{Timeout: Timeout, Control: func(_, address string, _ syscall.RawConn) error {
		return checkDial(address, development)
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

// Errors of Post for which a repeat is useless.
var (
	// ErrRefused means that the receiver answered 3xx or 4xx (except 429).
	ErrRefused = errors.New("the receiver refused")
	// ErrForbidden means that the address is not public, so nothing was sent.
	ErrForbidden = errors.New("the address is not public")
)

// Permanent reports whether repeating after an error of Post is useless.
func Permanent(err error) bool { return errors.Is(err, ErrRefused) || errors.Is(err, ErrForbidden) }

// Signature is the value of SignatureHeader: "sha256=" and the HMAC-SHA-256 of the body under the secret, in hexadecimal.
func Signature(secret string, body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}

// SignatureHeader is the header that proves to a receiver where a body comes from.
const SignatureHeader = "X-TS-Signature-256"

// Post sends a JSON body. It returns nil for an answer of 2xx, an error for which Permanent is true when a repeat is useless, and
// other errors for what may succeed later. It takes at most Timeout.
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
	_, _ = io.CopyN(io.Discard, answer.Body, answerMax) // The content of the answer does not matter.
	_ = answer.Body.Close()
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status >= 500 || status == http.StatusTooManyRequests:
		return statusError{status, false}
	default:
		return statusError{status, true}
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
