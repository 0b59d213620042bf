package main

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
	"syscall"
	"time"
)

const (
	startMax = 15 * time.Second // BOUND: how long a node may take until it is ready.
	stopMax  = 15 * time.Second // BOUND: how long it may drain.
)

// ownNode is a node that the run starts for itself on an empty data directory, so that a figure can be made again with one
// command. Its settings are the defaults, but for the management rate limits, which would only prolong the filling.
type ownNode struct {
	cmd    *exec.Cmd
	dir    string
	exited chan error
}

// startNode starts a binary and points the configuration at it. The data directory is made inside parent, which decides
// the disk that is measured; empty is the system's place for temporary files.
func startNode(ctx context.Context, cfg *config, binary, parent string) (*ownNode, error) {
	dir, err := os.MkdirTemp(parent, "loadtest-")
	if err != nil {
		return nil, err
	}
	n := &ownNode{dir: dir, exited: make(chan error, 1)}
	addresses, err := freeAddresses(3)
	if err != nil {
		return nil, errors.Join(err, n.stop())
	}
	keys := filepath.Join(dir, "keys.json")
	log, err := os.Create(filepath.Join(dir, "node.log"))
	if err != nil {
		return nil, errors.Join(err, n.stop())
	}
	defer func() { _ = log.Close() }() // The process has its own descriptor.
	cmd := exec.Command(binary, "serve", "--data-dir", filepath.Join(dir, "data"), "--auction-listen", addresses[0],
		"--manage-listen", addresses[1], "--peer-listen", addresses[2], "--node-id", "n1", "--keys-file", keys,
		"--ratelimit-management", "0", "--ratelimit-catalog", "0")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, n.stop())
	}
	n.cmd = cmd
	go func() { n.exited <- cmd.Wait() }()
	cfg.auctionURL, cfg.manageURL, cfg.pid = "http://"+addresses[0], "http://"+addresses[1], cmd.Process.Pid
	if err := n.await(ctx, cfg.manageURL); err != nil {
		text, _ := os.ReadFile(log.Name()) // What it says is only there to explain the error.
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, text), n.stop())
	}
	if err := cfg.readKeys(keys); err != nil {
		return nil, errors.Join(err, n.stop())
	}
	return n, nil
}

// await waits until the node is ready.
func (n *ownNode) await(ctx context.Context, manageURL string) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	for {
		if ready(ctx, manageURL) {
			return nil
		}
		select {
		case err := <-n.exited:
			n.exited <- err
			return fmt.Errorf("the node ended before it was ready: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("the node is not ready: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func ready(ctx context.Context, manageURL string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, manageURL+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, resp.Body) // Only so that the connection is used again.
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// stop drains the node and removes its data.
func (n *ownNode) stop() error {
	var fault error
	if n.cmd != nil {
		fault = n.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-n.exited:
			fault = errors.Join(fault, err)
		case <-time.After(stopMax):
			fault = errors.Join(fault, fmt.Errorf("the node did not end within %v", stopMax), n.cmd.Process.Kill())
		}
	}
	return errors.Join(fault, os.RemoveAll(n.dir))
}

// freeAddresses returns loopback addresses that nothing listened on just now.
func freeAddresses(count int) ([]string, error) {
	var all []string
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // Kept until all are found, so that they differ.
		all = append(all, l.Addr().String())
	}
	return all, nil
}
