package connections

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// Pauses after an Accept that failed for want of files or memory. BOUND: the first is short because the connection that was
// closed for it mostly suffices; the last keeps a process that is out of files from using a CPU for nothing.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// logEvery is how often a repeated failure is logged at most.
const logEvery = 10 * time.Second

// Accept returns the next connection that has a place. It returns an error only when the listener cannot go on: lack of files or
// memory is waited out, and a connection that ended in the queue is skipped.
func (l *Listener) Accept() (net.Conn, error) {
	pause := time.Duration(0)
	for {
		raw, err := l.Listener.Accept()
		switch {
		case err == nil:
			pause = 0
			c := &Conn{Conn: raw, l: l, source: sourceOf(raw.RemoteAddr())}
			if l.admit(c) {
				return c, nil
			}
			l.refuse(raw)
		case errors.Is(err, syscall.ECONNABORTED):
			l.failures.Add(1)
		case exhausted(err):
			l.failed(err)
			l.makeRoom()
			pause = min(max(2*pause, acceptPauseMin), acceptPauseMax)
			if !l.wait(pause) {
				return nil, net.ErrClosed
			}
		default:
			return nil, err
		}
	}
}

// exhausted reports whether a call failed because the process or the system has no files or no memory left.
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

func (l *Listener) failed(err error) {
	l.failures.Add(1)
	if seldom(&l.failureLogged, time.Now()) {
		l.o.Log.Error("accept_failed", slog.String("listener", l.o.Name), slog.Any("err", err),
			slog.String("hint", "it is repeated; raise the limit of open files (RLIMIT_NOFILE) or lower the connections_max settings"))
	}
}

// seldom reports whether logEvery has passed since it last said so.
func seldom(last *atomic.Int64, now time.Time) bool {
	was := last.Load()
	return now.Unix()-was >= int64(logEvery/time.Second) && last.CompareAndSwap(was, now.Unix())
}

// sourceOf is what the share of an address counts: an IPv4 address, or the /64 of an IPv6 address, which one machine has whole.
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
		return netip.Prefix{} // An address without a family: all of them are one source.
	}
	return prefix
}
