package daemon

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// serviceManager sends the state of the process to systemd, in the protocol of sd_notify(3). The zero value, for a
// process that no service manager started, sends nothing.
type serviceManager struct {
	address  string        // The name of a datagram socket of this machine; empty: none.
	watchdog time.Duration // The process is ended when it sends nothing for so long; 0: never.
	log      *slog.Logger
}

// newServiceManager reads where a service manager listens and what it expects. variable returns an environment variable.
func newServiceManager(variable func(name string) string, pid int, log *slog.Logger) serviceManager {
	if variable == nil {
		return serviceManager{}
	}
	s := serviceManager{address: variable("NOTIFY_SOCKET"), log: log}
	if strings.HasPrefix(s.address, "@") {
		s.address = "\x00" + s.address[1:] // A name without a file.
	}
	micros, err := strconv.ParseInt(variable("WATCHDOG_USEC"), 10, 64)
	of := variable("WATCHDOG_PID")
	if err == nil && micros > 0 && (of == "" || of == strconv.Itoa(pid)) {
		s.watchdog = time.Duration(micros) * time.Microsecond
	}
	return s
}

// notifyTimeout bounds one message. BOUND: a service manager that does not read must not keep the node from stopping.
const notifyTimeout = time.Second

// notify sends lines such as READY=1. A failure is logged and changes nothing: the node serves all the same.
func (s serviceManager) notify(lines ...string) {
	if s.address == "" {
		return
	}
	c, err := net.Dial("unixgram", s.address)
	if err == nil {
		_ = c.SetWriteDeadline(time.Now().Add(notifyTimeout)) // A failure shows at the write.
		_, err = c.Write([]byte(strings.Join(lines, "\n")))
		_ = c.Close()
	}
	if err != nil {
		s.log.Warn("service_manager_unreachable", slog.Any("err", err))
	}
}

// announce tells the service manager that the process has started: its ports answer, though it may wait for its peers
// for any time before it serves. From then on the watchdog is fed, also while the node loads its state.
func (n *node) announce(context.Context) error {
	n.manager.notify("READY=1", "STATUS=starting")
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { n.manager.watch(ctx, n.alive) })
	n.push("watchdog", func(context.Context) error {
		cancel()
		ended.Wait()
		return nil
	})
	return nil
}

// alive returns once it could read the state of the groups, whose locks every change takes.
func (n *node) alive() {
	if n.opened.Load() && !n.stopping.Load() {
		n.raft.Status()
	}
}

// watch sends a sign of life twice in each watchdog interval until ctx ends. alive returns once it could take the locks
// that requests need, so a process whose requests are stuck for ever is restarted.
func (s serviceManager) watch(ctx context.Context, alive func()) {
	if s.address == "" || s.watchdog == 0 {
		return
	}
	ticker := time.NewTicker(s.watchdog / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			alive()
			s.notify("WATCHDOG=1")
		}
	}
}
