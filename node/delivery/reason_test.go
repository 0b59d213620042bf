package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
)

// TestReason: a network error becomes its kind, however it is wrapped, and another stored text
// is not shown.
func TestReason(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://shop.test/", Err: &net.OpError{
			Op: "dial", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9)}, Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 443}, Err: err,
		}}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), ReasonRefused},
		{dial(os.NewSyscallError("read", syscall.ECONNRESET)), ReasonReset},
		{dial(os.NewSyscallError("write", syscall.EPIPE)), ReasonReset},
		{dial(io.EOF), ReasonReset},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), ReasonUnroutable},
		{dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), ReasonUnroutable},
		{dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), ReasonTimeout},
		{dial(context.DeadlineExceeded), ReasonTimeout},
		{dial(ErrForbidden), ReasonForbidden},
		{dial(fmt.Errorf("%w: %q", ErrForbidden, "10.0.0.5")), ReasonForbidden},
		{dial(&net.DNSError{Err: "no such host", Name: "shop.test", Server: "10.0.0.2:53", IsNotFound: true}), ReasonName},
		{dial(errors.New("something about 10.0.0.5")), ReasonOther},
		{statusError{503, false}, "the receiver answered 503"},
		{statusError{404, true}, "the receiver refused with 404"},
		{ErrStale, ReasonStale},
		{ErrDeleted, ReasonDeleted},
	} {
		got := Reason(c.err)
		if got != c.want || PublicReason(got) != got {
			t.Errorf("%v: %q, shown as %q, want %q", c.err, got, PublicReason(got), c.want)
		}
		if earlier := c.err.Error(); earlier != c.want && PublicReason(earlier) != ReasonOther {
			t.Errorf("a stored reason is shown as %q", PublicReason(earlier))
		}
	}
	for _, err := range []error{statusError{404, true}, ErrStale, ErrDeleted, ErrForbidden} {
		if !Permanent(err) {
			t.Errorf("%v is tried again", err)
		}
	}
	if Permanent(statusError{503, false}) {
		t.Error("an answer of 503 is not tried again")
	}
}
