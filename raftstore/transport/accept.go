package transport

import (
	"errors"
	"log/slog"
	"net"
	"syscall"
	"time"
)

const (
	acceptPauseMin = 5 * time.Millisecond // After the first failure; doubled after each further one.
	acceptPauseMax = 100 * time.Millisecond
	acceptLogEvery = 10 * time.Second // BOUND: one log line about failures to accept in this time.
)

// accept accepts connections until the listener is closed. A failure to accept never ends it: it pauses and tries
// again. Without file descriptors it closes a connection that has proved nothing, because only that lets a member in.
func (m *Mux) accept() {
	var pause time.Duration
	var logged time.Time
	for {
		raw, err := m.c.Listener.Accept()
		switch {
		case err == nil:
			pause = 0
			if c := m.track(raw); c != nil {
				m.done.Go(func() { m.open(c) })
			}
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		m.rejects.Accept.Add(1)
		if errors.Is(err, syscall.ECONNABORTED) {
			continue // The connection was reset before it was accepted; the next one must not wait for it.
		}
		if time.Since(logged) >= acceptLogEvery {
			logged = time.Now()
			m.c.Logger.Warn("peer_accept_failed", slog.Any("err", err), slog.Int("connections", m.Conns()),
				slog.String("action", "it is tried again; if the process has no file descriptors left, raise its limit of open files"))
		}
		pause = min(max(2*pause, acceptPauseMin), acceptPauseMax)
		if (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) && m.freeDescriptor() {
			pause = acceptPauseMin
		}
		time.Sleep(pause)
	}
}
