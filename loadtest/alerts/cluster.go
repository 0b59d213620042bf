//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/clients"
	"github.com/gavel-ads/gavel/loadtest/nemesis/environment"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

const (
	nodes = 3
	// diskBytes is the size of each sparse disk. The logs grow by some 20 MB in 90 s until they have as many entries as are kept; on a
	// disk of 3 GiB GavelDiskFilling says, and rightly, that this would fill it within a day.
	diskBytes = 32 << 30
	startMax  = 2 * time.Minute // How long the cluster may take until all nodes are ready.
)

// cluster is three real nodes with the settings that ship, and the clients of the nemesis.
type cluster struct {
	*environment.Environment
	dir                       string
	auctionKey, managementKey string
	clients                   *clients.Clients
	ready                     [nodes]atomic.Bool // As asked last.
	stopClients               context.CancelFunc
	stopped                   chan struct{}
}

// startCluster starts the nodes, and clients that send until the context ends.
func startCluster(ctx context.Context, dir, binary string, rate int) (*cluster, error) {
	c := &cluster{dir: dir}
	for kind, key := range map[string]*string{"auction": &c.auctionKey, "management": &c.managementKey} {
		text, err := exec.CommandContext(ctx, binary, "keys", "generate", "--kind", kind).Output()
		if err != nil {
			return nil, fmt.Errorf("gavel keys generate: %w", err)
		}
		*key = strings.TrimSpace(string(text))
	}
	certificates := exec.CommandContext(ctx, binary, "cluster", "certificates", "--out", dir, "n1", "n2", "n3")
	if text, err := certificates.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gavel cluster certificates: %w: %s", err, text)
	}
	var err error
	c.Environment, err = environment.New(environment.Options{
		Nodes: nodes, Binary: binary, LogDir: dir, DiskBytes: diskBytes, Args: c.arguments,
		Env: []string{ // The network of the namespaces is private.
			"GAVEL_SERVER_PLAIN_HTTP=true",
			"GAVEL_BOOTSTRAP_AUCTION_KEY=" + c.auctionKey, "GAVEL_BOOTSTRAP_MANAGEMENT_KEY=" + c.managementKey,
		},
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.heal(ctx), c.startClients(ctx, rate)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *cluster) arguments(w *environment.Environment, i int) []string {
	n := w.Nodes[i]
	var peers []string
	for _, peer := range w.Nodes {
		peers = append(peers, peer.IP+":7400")
	}
	return []string{
		"serve", "--data-dir", n.Disk.Data(), "--node-id", n.ID,
		"--auction-listen", n.IP + ":8080", "--manage-listen", n.IP + ":8081", "--peer-listen", n.IP + ":7400",
		"--join", strings.Join(peers, ","), "--bootstrap-expect", "3", "--log-format", "json",
		"--peer-certificate", filepath.Join(c.dir, n.ID+".crt"), "--peer-key", filepath.Join(c.dir, n.ID+".key"),
		"--peer-authority", filepath.Join(c.dir, "ca.crt"),
	}
}

// heal starts the nodes whose processes have ended, and waits until all nodes are ready.
func (c *cluster) heal(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	for _, n := range c.Nodes {
		if !runs(n) {
			if err := n.Start(); err != nil {
				return err
			}
		}
	}
	for _, n := range c.Nodes {
		if err := n.WaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// runs reports whether the node was started and has not ended.
func runs(n *environment.Node) bool {
	if n.Exited() == nil {
		return false
	}
	select {
	case <-n.Exited():
		return false
	default:
		return true
	}
}

// startClients fills the market and begins to send auctions and events.
func (c *cluster) startClients(ctx context.Context, rate int) error {
	o := clients.Options{
		AuctionKey: c.auctionKey, ManagementKey: c.managementKey, EventsPerSecond: rate, Storefronts: 4, Seed: 1,
		Ready: func(node int) bool { return c.ready[node].Load() },
	}
	for _, n := range c.Nodes {
		o.Nodes = append(o.Nodes, clients.Node{AuctionURL: n.AuctionURL, ManageURL: n.ManageURL})
	}
	c.clients = clients.New(o, history.New())
	starting, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	if err := c.clients.SetUp(starting); err != nil {
		return fmt.Errorf("set up the market: %w", err)
	}
	c.resumeClients(ctx)
	return nil
}

func (c *cluster) resumeClients(ctx context.Context) {
	ctx, c.stopClients = context.WithCancel(ctx)
	c.stopped = make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { c.clients.Run(ctx) })
	for i := range c.Nodes {
		all.Go(func() { c.watch(ctx, i) })
	}
	go func() {
		all.Wait()
		close(c.stopped)
	}()
}

// watch asks a node ten times a second whether it is ready, until the context ends.
func (c *cluster) watch(ctx context.Context, node int) {
	for wait(ctx, 100*time.Millisecond) {
		c.ready[node].Store(c.Nodes[node].Ready(ctx))
	}
}

// wait waits, and reports false when the context has ended before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// pauseClients ends all requests of the clients until resumeClients.
func (c *cluster) pauseClients() {
	c.stopClients()
	<-c.stopped
}

// Close ends the clients and the nodes.
func (c *cluster) Close() error {
	if c.stopClients != nil {
		c.pauseClients()
	}
	return c.Environment.Close()
}

var caller = &http.Client{Timeout: 2 * time.Second}

// post sends a body with a key and returns the status, 0 when there was no answer.
func (c *cluster) post(ctx context.Context, url, key, body string) (status int, text string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewBufferString(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := caller.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // It was read.
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(said)
}
