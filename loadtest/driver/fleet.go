package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	startMax = 60 * time.Second // BOUND: how long the nodes may take until all are ready.
	stopMax  = 30 * time.Second // BOUND: how long a node may drain.
)

// Fleet is a single node, or a cluster of several nodes: real processes on this machine, each on an empty directory, so that one command
// repeats a measurement. The nodes have the default settings, but no management rate limits.
type Fleet struct {
	Nodes                     []*Node
	AuctionKey, ManagementKey string

	dir string
}

// Node is one process of a fleet.
type Node struct {
	Auction, Manage string   // Base URLs.
	Settings        []string // Flags of gavel serve, but for the data directory.
	Pid             int

	binary string
	env    []string
	cmd    *exec.Cmd
	log    string
	exited chan error
}

// StartFleet starts count nodes of a binary and returns when all of them are ready. Their data is in a new directory below parent, which decides
// the disk that is measured; empty means the system's directory for temporary files. Settings are additional flags of every node.
func StartFleet(ctx context.Context, binary, parent string, count int, settings ...string) (f *Fleet, err error) {
	dir, err := os.MkdirTemp(parent, "fleet-")
	if err != nil {
		return nil, err
	}
	f = &Fleet{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Stop())
		}
	}()
	keys, err := presetKeys(ctx, binary)
	if err != nil {
		return f, err
	}
	f.AuctionKey, f.ManagementKey = keys[0], keys[1]
	addresses, err := freeAddresses(3 * count)
	if err != nil {
		return f, err
	}
	settings = append(settings, "--ratelimit-management", "0", "--ratelimit-catalog", "0")
	if count > 1 {
		settings = append(settings, "--join", strings.Join(addresses[2*count:], ","), "--bootstrap-expect", strconv.Itoa(count), "--peer-insecure")
	}
	for i := range count {
		if err := f.start(binary, i, addresses[i], addresses[count+i], addresses[2*count+i], settings); err != nil {
			return f, err
		}
	}
	return f, f.await(ctx)
}

// presetKeys makes an auction key and a management key before the nodes start, so that all nodes have the same keys.
func presetKeys(ctx context.Context, binary string) (keys []string, err error) {
	for _, kind := range []string{"auction", "management"} {
		key, err := exec.CommandContext(ctx, binary, "keys", "generate", "--kind", kind).Output()
		if err != nil {
			return nil, fmt.Errorf("%s keys generate: %w", binary, err)
		}
		keys = append(keys, strings.TrimSpace(string(key)))
	}
	return keys, nil
}

func (f *Fleet) start(binary string, i int, auction, manage, peer string, settings []string) error {
	id := fmt.Sprintf("n%d", i+1)
	n := &Node{
		Auction: "http://" + auction, Manage: "http://" + manage, binary: binary, log: filepath.Join(f.dir, id+".log"),
		Settings: append([]string{
			"--node-id", id, "--keys-file", filepath.Join(f.dir, id+".keys.json"),
			"--auction-listen", auction, "--manage-listen", manage, "--peer-listen", peer,
		}, settings...),
		env: append(os.Environ(), "GAVEL_BOOTSTRAP_AUCTION_KEY="+f.AuctionKey, "GAVEL_BOOTSTRAP_MANAGEMENT_KEY="+f.ManagementKey),
	}
	if err := n.start(filepath.Join(f.dir, id)); err != nil {
		return err
	}
	f.Nodes = append(f.Nodes, n)
	return nil
}

// start starts the process on a data directory. REQUIRES: it does not run.
func (n *Node) start(dataDir string) error {
	log, err := os.OpenFile(n.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // The process has its own descriptor.
	cmd, exited := exec.Command(n.binary, append([]string{"serve", "--data-dir", dataDir}, n.Settings...)...), make(chan error, 1)
	cmd.Env, cmd.Stdout, cmd.Stderr = n.env, log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { exited <- cmd.Wait() }()
	n.cmd, n.exited, n.Pid = cmd, exited, cmd.Process.Pid
	return nil
}

// Dir is the directory of everything that belongs to the fleet; Stop removes it.
func (f *Fleet) Dir() string { return f.dir }

// Replace drains a node and starts it again with the same settings on another data directory, which holds a restored backup. It
// returns when all nodes are ready. REQUIRES: a fleet of one node.
func (f *Fleet) Replace(ctx context.Context, dataDir string) error {
	n := f.Nodes[0]
	if err := errors.Join(n.terminate(), n.awaitEnd()); err != nil {
		return err
	}
	if err := n.start(dataDir); err != nil {
		f.Nodes = nil // Nothing runs that Stop could drain.
		return err
	}
	return f.await(ctx)
}

func (f *Fleet) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	for _, n := range f.Nodes {
		for !n.Ready(ctx) {
			select {
			case err := <-n.exited:
				n.exited <- err
				return fmt.Errorf("a node ended before it was ready: %w\n%s", err, n.logEnd())
			case <-ctx.Done():
				return fmt.Errorf("a node is not ready: %w\n%s", ctx.Err(), n.logEnd())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// logEnd returns the end of the log of a node, or nothing when it cannot be read.
func (n *Node) logEnd() []byte {
	text, _ := os.ReadFile(n.log)
	return text[max(0, len(text)-2_000):]
}

// Ready reports whether /readyz of a node answers 200.
func (n *Node) Ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Manage+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, resp.Body) // The body is read so that the connection can be reused.
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Stop drains the nodes and removes their data. Its error joins what went wrong at each node.
func (f *Fleet) Stop() error {
	var fault error
	for _, n := range f.Nodes {
		fault = errors.Join(fault, n.terminate())
	}
	for _, n := range f.Nodes {
		fault = errors.Join(fault, n.awaitEnd())
	}
	return errors.Join(fault, os.RemoveAll(f.dir))
}

// terminate asks a node to drain.
func (n *Node) terminate() error {
	if err := n.cmd.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// awaitEnd waits for the end of a node that drains. Its error says what was wrong with it.
func (n *Node) awaitEnd() error {
	select {
	case err := <-n.exited:
		return err
	case <-time.After(stopMax):
		return errors.Join(fmt.Errorf("a node did not end within %v", stopMax), n.cmd.Process.Kill())
	}
}

// freeAddresses returns loopback addresses on which nothing listens at the moment.
func freeAddresses(count int) ([]string, error) {
	var all []string
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // It stays open until all are found, so that they differ.
		all = append(all, l.Addr().String())
	}
	return all, nil
}
