// Package nodetest runs real gavel processes on loopback, for tests that need a process: to send it a SIGKILL, to start
// it again on its data directory, or to close its ports for a while.
//
// A package that uses it calls Main from its TestMain. The binary is built once, when the first test needs it, and
// removed at the end. The environment variable GAVEL_BINARY names an existing binary instead, so that the same tests can
// run against a build with a planted fault.
package nodetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/internal/sources"
)

const (
	// ReadyMax is how long a start may take until /readyz answers 200. BOUND: the promise for a restart after a kill
	// (P12, restart).
	ReadyMax = 15 * time.Second
	// DrainMax is how long an exit after SIGTERM may take.
	DrainMax = 15 * time.Second
	// buildMax bounds the build of the binary on an empty build cache.
	buildMax = 5 * time.Minute
)

// mainPackage is the package that is built. A test binary links nothing of it, so the cache of test results does not
// notice its changes; see internal/sources.
const mainPackage = "github.com/gavel-ads/gavel/node"

var buildState struct {
	once sync.Once
	on   bool // Main was called.
	dir  string
	path string
	err  error
}

// Main runs a package's tests and removes the binary. TestMain passes its result to os.Exit.
func Main(m *testing.M) int {
	buildState.on = true
	code := m.Run()
	if buildState.dir != "" {
		_ = os.RemoveAll(buildState.dir) // It is a temporary directory; nothing depends on its removal.
	}
	return code
}

// Binary returns the path of the gavel binary. The first call builds it.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("GAVEL_BINARY"); path != "" {
		return path
	}
	if !buildState.on {
		t.Fatal("nodetest: TestMain has to call nodetest.Main")
	}
	buildState.once.Do(func() {
		sources.Build(t, mainPackage)
		build()
	})
	if buildState.err != nil {
		t.Fatal(buildState.err)
	}
	return buildState.path
}

func build() {
	if buildState.dir, buildState.err = os.MkdirTemp("", "gavel-nodetest-"); buildState.err != nil {
		return
	}
	buildState.path = filepath.Join(buildState.dir, "gavel")
	ctx, cancel := context.WithTimeout(context.Background(), buildMax)
	defer cancel()
	buildState.err = sources.Link(ctx, mainPackage, buildState.path)
}

// Options say how a node is started. The zero value is a new single node with the defaults of the command line.
type Options struct {
	Binary string   // Another program with the same command line; empty: gavel, as Binary returns it.
	Dir    string   // Data directory; empty: a temporary one of the test.
	Args   []string // Further arguments of gavel serve.
	Env    []string // Further variables, as KEY=value. Variables named GAVEL_* of the caller are not passed on.
	Keys   *Keys    // Preset first keys; nil: the node generates its own and writes them to a keys file.
	// ReadyTimeout replaces ReadyMax in tests that do not check the time of a start.
	ReadyTimeout time.Duration
	// PeerInsecure makes the nodes of StartCluster use plain TCP between each other instead of TLS.
	PeerInsecure bool
}

// Keys are the first keys of the node's marketplace.
type Keys struct {
	AuctionKey    string `json:"auctionKey"`
	ManagementKey string `json:"managementKey"`
	MarketplaceID string `json:"marketplaceId"`
}

// Node is a gavel process and its data directory. The process may end and start again any number of times; ports,
// directory and keys stay the same. Methods must not be called concurrently, except Kill during WaitReady.
type Node struct {
	AuctionURL, ManageURL string
	PeerAddress           string // Address of the peer port, for the nodes of StartCluster.
	Keys                  Keys   // Set from the first time the node is ready.

	binary string
	args   []string
	env    []string
	dir    string
	log    string

	readyTimeout time.Duration

	mu     sync.Mutex
	cmd    *exec.Cmd     // nil when no process runs.
	exited chan struct{} // Closed when cmd has ended.
	err    error         // The result of Wait, valid after exited is closed.
}

// New prepares a node without starting it. The process is killed at the end of the test; if the test failed, the end of
// its log is printed.
func New(t testing.TB, o Options) *Node {
	t.Helper()
	n := &Node{binary: o.Binary, dir: o.Dir, readyTimeout: cmp.Or(o.ReadyTimeout, ReadyMax)}
	if n.binary == "" {
		n.binary = Binary(t)
	}
	if n.dir == "" {
		n.dir = filepath.Join(t.TempDir(), "data")
	}
	side := t.TempDir()
	n.log = filepath.Join(side, "node.log")
	keys := filepath.Join(side, "keys.json")
	ports := reservePorts(t, 3)
	listen := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	n.AuctionURL, n.ManageURL = "http://"+listen(0), "http://"+listen(1)
	n.args = append([]string{
		"serve", "--data-dir", n.dir, "--auction-listen", listen(0), "--manage-listen", listen(1), "--peer-listen", listen(2),
		"--node-id", "n1",
	}, o.Args...)
	n.env = append(append(ownEnvironment(), "GAVEL_DRAIN_DELAY=0s"), o.Env...) // No load balancer asks /readyz, only WaitReady.
	if o.Keys == nil {
		n.args = append(n.args, "--keys-file", keys)
	} else {
		n.Keys = *o.Keys
		n.env = append(n.env, "GAVEL_BOOTSTRAP_AUCTION_KEY="+n.Keys.AuctionKey, "GAVEL_BOOTSTRAP_MANAGEMENT_KEY="+n.Keys.ManagementKey)
	}
	t.Cleanup(func() {
		_ = n.Kill() // It may have ended by itself.
		if t.Failed() {
			t.Logf("the end of the node's log:\n%s", n.LogTail())
		}
	})
	return n
}

// Start prepares a node, starts it and waits until it is ready.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	n := New(t, o)
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	if err := n.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// Start starts the process with the existing data directory. REQUIRES: no process runs.
func (n *Node) Start() error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // The process has its own descriptor.
	cmd := exec.Command(n.binary, n.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = n.env, log, log
	// The nodes of a killed test must end, too, because they use ports and disk.
	cmd.SysProcAttr = killWithParent()
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	n.mu.Lock()
	n.cmd, n.exited = cmd, exited
	n.mu.Unlock()
	go func() {
		err := cmd.Wait()
		n.mu.Lock()
		n.err = err
		n.mu.Unlock()
		close(exited)
	}()
	return nil
}

// Pid returns the process id, or 0 when no process was started.
func (n *Node) Pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return 0
	}
	return n.cmd.Process.Pid
}

// Kill sends SIGKILL and waits until the process has ended. Only the first of several callers has an effect.
func (n *Node) Kill() error { return n.end(syscall.SIGKILL, DrainMax) }

// Terminate sends SIGTERM and waits until the process has ended. It returns an error when the exit code is not 0, or
// when the process needed longer than DrainMax and was killed.
func (n *Node) Terminate() error {
	n.mu.Lock()
	exited := n.exited
	n.mu.Unlock()
	if err := n.end(syscall.SIGTERM, DrainMax); err != nil || exited == nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

func (n *Node) end(signal syscall.Signal, timeout time.Duration) error {
	n.mu.Lock()
	cmd, exited := n.cmd, n.exited
	n.cmd = nil
	n.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-exited:
		return nil
	case <-time.After(timeout):
		_ = cmd.Process.Kill() // The error below is what matters.
		<-exited
		return fmt.Errorf("the process did not end within %v of %v", timeout, signal)
	}
}

// WaitReady waits until /readyz answers 200, at most ReadyMax or Options.ReadyTimeout, and reads the keys the first
// time. It returns an error with the end of the log when the process ends before that.
func (n *Node) WaitReady(ctx context.Context) error {
	n.mu.Lock()
	exited := n.exited
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, n.readyTimeout)
	defer cancel()
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for {
		if n.ready(ctx, client) {
			return n.readKeys()
		}
		select {
		case <-exited:
			return fmt.Errorf("the process ended before it was ready\n%s", n.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w\n%s", ctx.Err(), n.LogTail())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (n *Node) ready(ctx context.Context, client *http.Client) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.ManageURL+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, resp.Body) // So that the connection can be reused.
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (n *Node) readKeys() error {
	if n.Keys.AuctionKey != "" {
		return nil
	}
	text, err := os.ReadFile(n.keysFile())
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &n.Keys); err != nil {
		return fmt.Errorf("keys file: %w in %s", err, text)
	}
	if n.Keys.AuctionKey == "" || n.Keys.ManagementKey == "" {
		return fmt.Errorf("keys file without keys: %s", text)
	}
	return nil
}

func (n *Node) keysFile() string { return filepath.Join(filepath.Dir(n.log), "keys.json") }

// LogTail returns the end of the output of the processes: the last lines, of each its begin. The stacks of a process that ends
// itself are one line.
func (n *Node) LogTail() string {
	const most, ofLine = 8 << 10, 1 << 10
	text, err := os.ReadFile(n.log)
	if err != nil {
		return err.Error()
	}
	var tail []byte
	for line := range bytes.Lines(text) {
		if len(line) > ofLine {
			line = append(line[:ofLine:ofLine], "...\n"...)
		}
		tail = append(tail, line...)
	}
	if len(tail) > most {
		tail = tail[len(tail)-most:]
		tail = tail[bytes.IndexByte(tail, '\n')+1:]
	}
	return string(tail)
}
