//go:build linux

package environment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Node is one gavel process, its addresses and its disk. The process may end and be started again any number of times.
type Node struct {
	ID, IP                string
	AuctionURL, ManageURL string
	Disk                  *Disk
	Log                   string

	binary, namespace string
	args              func() []string
	env               []string
	cgroup            *throttle

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}    // Closed when cmd has been waited for.
	state  *os.ProcessState // Valid once exited is closed.
}

// Start starts the process on the disk as it is. REQUIRES: no process runs.
func (n *Node) Start() error {
	log, err := os.OpenFile(n.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // The process has its own descriptor.
	_, _ = fmt.Fprintf(log, "---- nemesis: start at %s\n", time.Now().UTC().Format(time.RFC3339Nano))
	// nsenter replaces itself by the process. Unlike ip netns exec it does not copy the mounts; a copy would keep a file system alive
	// that was unmounted here.
	cmd := exec.Command("nsenter", append([]string{"--net=/run/netns/" + n.namespace, "--", n.binary}, n.args()...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), n.env...), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true} // A ^C of the terminal is for the run, not for its nodes.
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	n.mu.Lock()
	n.cmd, n.exited = cmd, exited
	n.mu.Unlock()
	go func() {
		_ = cmd.Wait() // The process state has its result.
		n.mu.Lock()
		n.state = cmd.ProcessState
		n.mu.Unlock()
		close(exited)
	}()
	return nil
}

// Exited returns a channel that is closed when the process that was started last has ended; nil before the first start.
func (n *Node) Exited() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.exited
}

// End returns how the process ended that ended last; nil before the first end.
func (n *Node) End() *os.ProcessState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

// Pid returns the process id, 0 before the first start.
func (n *Node) Pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return 0
	}
	return n.cmd.Process.Pid
}

// Signal sends a signal. It is no error when the process has ended.
func (n *Node) Signal(s os.Signal) error {
	n.mu.Lock()
	cmd := n.cmd
	n.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill sends SIGKILL and waits until the process has ended.
func (n *Node) Kill() error { return n.end(syscall.SIGKILL, endMax) }

// Terminate sends SIGTERM and waits until the process has ended. When it has not ended within limit it is killed, and an error returned.
func (n *Node) Terminate(limit time.Duration) error { return n.end(syscall.SIGTERM, limit) }

// end sends a signal and waits until the process has ended, at most limit; then it sends SIGKILL and returns an error.
func (n *Node) end(s syscall.Signal, limit time.Duration) error {
	exited := n.Exited()
	if exited == nil {
		return nil
	}
	if err := n.Signal(s); err != nil {
		return err
	}
	select {
	case <-exited:
		return nil
	case <-time.After(limit):
	}
	_ = n.Signal(syscall.SIGKILL) // The error below is what matters.
	select {
	case <-exited:
	case <-time.After(endMax):
	}
	return fmt.Errorf("%s did not end within %v of %v", n.ID, limit, s)
}

var prober = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Ready asks /readyz of the node once and reports whether it answers 200 within a second.
func (n *Node) Ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.ManageURL+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := prober.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// WaitReady asks the node until it is ready. It returns an error when the context ends before.
func (n *Node) WaitReady(ctx context.Context) error {
	for !n.Ready(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", n.ID, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
