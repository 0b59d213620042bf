package daemon

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// systemd is the receiving side of the protocol.
type systemd struct {
	*testing.T
	messages chan string
	name     string
}

func newSystemd(t *testing.T) *systemd {
	t.Helper()
	dir, err := os.MkdirTemp("", "") //nolint:usetesting // Names of sockets are short; that of t.TempDir is not.
	if err != nil {
		t.Fatal(err)
	}
	s := &systemd{T: t, name: filepath.Join(dir, "notify"), messages: make(chan string, 10_000)}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "unixgram", s.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, _, err := conn.ReadFrom(buffer)
			if err != nil {
				return // The test has ended.
			}
			s.messages <- string(buffer[:n])
		}
	}()
	return s
}

// next returns the next message other than skip.
func (s *systemd) next(skip string) string {
	s.Helper()
	for limit := time.After(time.Minute); ; {
		select {
		case text := <-s.messages:
			if text != skip {
				return text
			}
		case <-limit:
			s.Fatal("no message came")
		}
	}
}

// A node that systemd starts says that it is ready when its listeners are open, that it serves, that it lives, and that
// it stops.
func TestTheServiceManagerFollowsANode(t *testing.T) {
	s := newSystemd(t)
	variables := map[string]string{"NOTIFY_SOCKET": s.name, "WATCHDOG_USEC": "400000", "WATCHDOG_PID": strconv.Itoa(os.Getpid())}
	const alive = "WATCHDOG=1"
	cfg := testConfig(t.TempDir(), 1)
	n := run(t, cfg, Options{Variable: func(name string) string { return variables[name] }})
	if got := s.next(alive); !strings.HasPrefix(got, "READY=1\nSTATUS=") {
		t.Errorf("the first message is %q", got)
	}
	if got := s.next(alive); !strings.HasPrefix(got, "STATUS=serving") {
		t.Errorf("the second message is %q", got)
	}
	for range 3 {
		if got := s.next(""); got != alive {
			t.Errorf("a serving node sends %q", got)
		}
	}
	n.stop()
	if got := s.next(alive); got != "STOPPING=1" {
		t.Errorf("a stopping node sends %q", got)
	}
}

// The watchdog of another process is not this one's, and without a service manager nothing is sent.
func TestServiceManagerVariables(t *testing.T) {
	for name, row := range map[string]struct {
		socket, watchdog, pid, address string
		interval                       time.Duration
	}{
		"none":                {"", "", "", "", 0},
		"no watchdog":         {"/run/n", "", "", "/run/n", 0},
		"an abstract address": {"@n", "2000000", "7", "\x00n", 2 * time.Second},
		"any process":         {"/run/n", "2000000", "", "/run/n", 2 * time.Second},
		"another process":     {"/run/n", "2000000", "8", "/run/n", 0},
		"no number":           {"/run/n", "soon", "7", "/run/n", 0},
	} {
		variables := map[string]string{"NOTIFY_SOCKET": row.socket, "WATCHDOG_USEC": row.watchdog, "WATCHDOG_PID": row.pid}
		s := newServiceManager(func(name string) string { return variables[name] }, 7, slog.New(slog.DiscardHandler))
		if s.address != row.address || s.watchdog != row.interval {
			t.Errorf("%s: %q, %s", name, s.address, s.watchdog)
		}
	}
	serviceManager{}.notify("READY=1")
}
