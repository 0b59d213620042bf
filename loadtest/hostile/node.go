//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startMax = 60 * time.Second // BOUND: how long the node may take until it is ready.
	stopMax  = 60 * time.Second // BOUND: how long it may drain.
)

// node is the process under attack. It has the default settings, because rate limits are part of what is tested.
type node struct {
	auction, manage, peer     string // HOST:PORT
	auctionKey, managementKey string
	limitedBy                 string // The environment variable that sets the memory limit.
	pid                       int

	cmd    *exec.Cmd
	log    string
	exited chan struct{} // Closed when the process has ended.
}

// startNode starts a binary on an empty directory below dir, with the limits of files and memory of the options, and returns when it is
// ready. The shell that sets the limit of files replaces itself by the node, so the process id is the node's.
func startNode(ctx context.Context, o options, dir string) (*node, error) {
	n := &node{log: cmp.Or(o.nodeLog, filepath.Join(dir, "node.log")), exited: make(chan struct{})}
	for _, key := range []struct {
		kind string
		to   *string
	}{{"auction", &n.auctionKey}, {"management", &n.managementKey}} {
		text, err := exec.CommandContext(ctx, o.binary, "keys", "generate", "--kind", key.kind).Output()
		if err != nil {
			return nil, fmt.Errorf("%s keys generate: %w", o.binary, err)
		}
		*key.to = strings.TrimSpace(string(text))
	}
	certificates := filepath.Join(dir, "peers")
	if out, err := exec.CommandContext(ctx, o.binary, "cluster", "certificates", "--out", certificates, "n1").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s cluster certificates: %w: %s", o.binary, err, out)
	}
	if err := freeAddresses(&n.auction, &n.manage, &n.peer); err != nil {
		return nil, err
	}
	limit, err := n.limitMemory(ctx, o)
	if err != nil {
		return nil, err
	}
	script := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, o.files)
	n.cmd = exec.Command("sh", "-c", script, o.binary, "serve", "--node-id", "n1", "--data-dir", filepath.Join(dir, "data"),
		"--keys-file", filepath.Join(dir, "keys.json"), "--auction-listen", n.auction, "--manage-listen", n.manage, "--peer-listen", n.peer,
		"--peer-certificate", filepath.Join(certificates, "n1.crt"), "--peer-key", filepath.Join(certificates, "n1.key"),
		"--peer-authority", filepath.Join(certificates, "ca.crt"))
	n.cmd.Env = append(os.Environ(), "GAVEL_BOOTSTRAP_AUCTION_KEY="+n.auctionKey, "GAVEL_BOOTSTRAP_MANAGEMENT_KEY="+n.managementKey, limit)
	n.cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL, Setpgid: true, // The node ends when the run is killed, and does not get the signals of a terminal.
	}
	log, err := os.Create(n.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // The process has its own descriptor.
	n.cmd.Stdout, n.cmd.Stderr = log, log
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	n.pid = n.cmd.Process.Pid
	go func() {
		_ = n.cmd.Wait() // ProcessState has the result.
		close(n.exited)
	}()
	if err := n.await(ctx); err != nil {
		return nil, errors.Join(err, n.stop())
	}
	return n, nil
}

// limitMemory returns the environment variable that limits the node's memory: the setting of the node, or GOMEMLIMIT for a binary that does
// not have the setting.
func (n *node) limitMemory(ctx context.Context, o options) (string, error) {
	help, err := exec.CommandContext(ctx, o.binary, "serve", "--help").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s serve --help: %w", o.binary, err)
	}
	n.limitedBy = "GOMEMLIMIT=" + strconv.FormatInt(o.memory*9/10>>20, 10) + "MiB"
	if bytes.Contains(help, []byte("GAVEL_MEMORY_LIMIT")) {
		n.limitedBy = "GAVEL_MEMORY_LIMIT=" + strconv.FormatInt(o.memory>>20, 10) + "MiB"
	}
	return n.limitedBy, nil
}

// await waits until the node is ready, at most startMax. Its error has the end of the log.
func (n *node) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.manage+"/readyz", nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_ = resp.Body.Close() // Only the status matters.
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-n.exited:
			return fmt.Errorf("the node ended before it was ready: %v\n%s", n.cmd.ProcessState, n.lastLines())
		case <-ctx.Done():
			return fmt.Errorf("the node is not ready: %w\n%s", ctx.Err(), n.lastLines())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ended says how the process ended. It is empty while the process runs.
func (n *node) ended() string {
	select {
	case <-n.exited:
		return fmt.Sprintf("%v: %s", n.cmd.ProcessState, n.lastLines())
	default:
		return ""
	}
}

const (
	logMax  = 4 << 20 // BOUND: how many bytes of the end of a log are searched; a dump of stacks may have as many.
	lineMax = 600     // BOUND: how many bytes of a line are in the report.
)

// lastLines returns what the node logged about its end, or nothing when the log cannot be read.
func (n *node) lastLines() string {
	text, _ := os.ReadFile(n.log)
	return lastLines(string(text[max(0, len(text)-logMax):]))
}

// lastLines returns the last two lines of a log in which the process says why it ends, or else the last two lines.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var said []string
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "gavel: ") ||
			strings.Contains(line, "process_exiting") || strings.Contains(line, "node_failed") {
			said = append(said, line[:min(len(line), lineMax)])
		}
	}
	if len(said) == 0 {
		said = lines[max(0, len(lines)-2):]
	}
	last := strings.Join(said[max(0, len(said)-2):], "; ")
	return last[max(0, len(last)-2*lineMax):]
}

// stop ends the process with SIGTERM, and after stopMax with SIGKILL.
func (n *node) stop() error {
	if n.ended() != "" {
		return nil
	}
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-n.exited:
		return nil
	case <-time.After(stopMax):
		return errors.Join(fmt.Errorf("the node did not end within %v", stopMax), n.cmd.Process.Kill())
	}
}

// freeAddresses sets loopback addresses on which nothing listens at the moment.
func freeAddresses(to ...*string) error {
	for _, address := range to {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }() // It stays open until all are found, so that they differ.
		*address = l.Addr().String()
	}
	return nil
}
