package delivery

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"syscall"
)

// Reasons that the owner of a webhook sees. They name the kind of failure only. The text of a network error contains the
// addresses that a name resolved to, the node's own, and its resolver, so a tenant could map the network behind the
// node by registering addresses and reading the reasons.
const (
	ReasonForbidden  = "the address is not public"
	ReasonTimeout    = "timeout"
	ReasonRefused    = "connection refused"
	ReasonReset      = "connection closed"
	ReasonUnroutable = "no route to the receiver"
	ReasonName       = "the name cannot be resolved"
	ReasonTLS        = "the TLS handshake failed"
	ReasonStale      = "not sent within 10 minutes"
	ReasonDeleted    = "the webhook was deleted"
	ReasonOther      = "the delivery failed"
)

// Errors of notifications that are given up without an attempt.
var (
	ErrStale   = fmt.Errorf("%w: %s", ErrRefused, ReasonStale)
	ErrDeleted = fmt.Errorf("%w: %s", ErrRefused, ReasonDeleted)
)

// statusError is an answer whose status is not 2xx.
type statusError struct {
	status int
	final  bool // A repeat is useless.
}

func (a statusError) Error() string {
	if a.final {
		return fmt.Sprintf("%v with %d", ErrRefused, a.status)
	}
	return fmt.Sprintf("the receiver answered %d", a.status)
}

// Is makes a final answer match ErrRefused.
func (a statusError) Is(target error) bool { return a.final && target == ErrRefused }

// Reason returns what the owner of a webhook sees of an error of Post: a constant of this package, or the status of the answer. The
// error itself belongs into the node's log.
func Reason(err error) string {
	if a, ok := errors.AsType[statusError](err); ok {
		return a.Error()
	}
	for _, row := range []struct {
		is     error
		reason string
	}{
		{ErrStale, ReasonStale},
		{ErrDeleted, ReasonDeleted},
		{ErrForbidden, ReasonForbidden},
		{context.DeadlineExceeded, ReasonTimeout},
		{syscall.ECONNREFUSED, ReasonRefused},
		{syscall.ECONNRESET, ReasonReset},
		{syscall.EPIPE, ReasonReset},
		{io.EOF, ReasonReset},
		{io.ErrUnexpectedEOF, ReasonReset},
		{syscall.ENETUNREACH, ReasonUnroutable},
		{syscall.EHOSTUNREACH, ReasonUnroutable},
	} {
		if errors.Is(err, row.is) {
			return row.reason
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return ReasonTimeout
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return ReasonName
	}
	if isTLS(err) {
		return ReasonTLS
	}
	return ReasonOther
}

func isTLS(err error) bool {
	_, verified := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return verified || header || alert
}

var ofStatus = regexp.MustCompile(`^the receiver (answered|refused with) [0-9]{3}$`)

// PublicReason returns a stored reason if it is one that Reason returns, and ReasonOther for every other text, so that whatever is
// stored shows no address.
func PublicReason(reason string) string {
	own := []string{
		"", ReasonForbidden, ReasonTimeout, ReasonRefused, ReasonReset, ReasonUnroutable, ReasonName, ReasonTLS, ReasonStale, ReasonDeleted,
	}
	if slices.Contains(own, reason) || ofStatus.MatchString(reason) {
		return reason
	}
	return ReasonOther
}
