package ingress

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// The pauses after an Accept that failed for lack of file descriptors or memory grow from the first to the second. BOUND: the
// first is short, because the connection that was closed usually suffices; the second keeps a process without free descriptors
// from using a whole CPU.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// logEvery is the least time between two log lines of a repeated failure.
const logEvery = 10 * time.Second

// Accept returns the next connection that is not refused. It returns an error only when the listener cannot continue: after a
// failure for lack of file descriptors or memory it waits and tries again, and it skips a connection that was aborted before
// it was accepted.
func (l *Listener) Accept() (net.Conn, error) {
	pause := time.Duration(0)
	for {
		raw, err := l.Listener.Accept()
		switch {
		case err == nil:
			pause = 0
			c := &Conn{Conn: raw, l: l, source: sourceOf(raw.RemoteAddr())}
			if l.register(c) {
				return c, nil
			}
			l.refuse(raw)
		case errors.Is(err, syscall.ECONNABORTED):
			l.failures.Add(1)
		case exhausted(err):
			l.acceptFailed(err)
			l.freeDescriptor()
			pause = min(max(2*pause, acceptPauseMin), acceptPauseMax)
			if !l.wait(pause) {
				return nil, net.ErrClosed
			}
		default:
			return nil, err
		}
	}
}

// exhausted reports whether a call failed because the process or the system has no file descriptors or no memory left.
func exhausted(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// wait pauses and reports whether the listener is still open.
func (l *Listener) wait(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// acceptFailed counts and logs a failure of Accept that is repeated.
func (l *Listener) acceptFailed(err error) {
	l.failures.Add(1)
	if logDue(&l.failureLogged, time.Now()) {
		l.o.Log.Error("accept_failed", slog.String("listener", l.o.Name), slog.Any("err", err),
			slog.String("hint", "it is repeated; raise the limit of open files (RLIMIT_NOFILE) or lower the connections_max settings"))
	}
}

// logDue reports whether logEvery has passed since it last returned true for the same last.
func logDue(last *atomic.Int64, now time.Time) bool {
	was := last.Load()
	return now.Unix()-was >= int64(logEvery/time.Second) && last.CompareAndSwap(was, now.Unix())
}

// sourceOf returns the prefix for which connections of one source are counted: an IPv4 address, or the /64 of an IPv6 address,
// because one machine usually has a whole /64.
func sourceOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{} // All addresses without a family count as one source.
	}
	return prefix
}
