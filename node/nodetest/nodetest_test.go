package nodetest_test

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// mode is the environment variable that makes this test binary behave like gavel serve.
const mode = "NODETEST_MODE"

func TestMain(m *testing.M) {
	if how := os.Getenv(mode); how != "" {
		fakeServe(how)
	}
	os.Exit(nodetest.Main(m))
}

// fakeServe is a process with the command line of gavel serve that has no node.
func fakeServe(how string) {
	if how == "fails" {
		log.Fatal("there is no space on the disk")
	}
	flag := func(name string) string { return os.Args[slices.Index(os.Args, name)+1] }
	if err := os.WriteFile(flag("--keys-file"), []byte(`{"auctionKey":"a","managementKey":"m","marketplaceId":"x"}`), 0o600); err != nil {
		log.Fatal(err)
	}
	if how != "ignores SIGTERM" {
		terminated := make(chan os.Signal, 1)
		signal.Notify(terminated, syscall.SIGTERM)
		go func() { <-terminated; os.Exit(0) }()
	}
	log.Fatal(http.ListenAndServe(flag("--manage-listen"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, os.Getenv("GAVEL_DATA_DIR"), flag("--node-id"), slices.Contains(os.Args, "--extra"))
	})))
}

func options(t *testing.T, how string) nodetest.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return nodetest.Options{Binary: self, Env: []string{mode + "=" + how}, Args: []string{"--extra"}}
}

func TestStartsKillsAndStopsANode(t *testing.T) {
	t.Setenv("GAVEL_DATA_DIR", "of a developer")
	n := nodetest.Start(t, options(t, "serves"))
	if n.Keys != (nodetest.Keys{AuctionKey: "a", ManagementKey: "m", MarketplaceID: "x"}) {
		t.Errorf("keys %+v", n.Keys)
	}
	first := n.Pid()
	for range 2 { // The same ports are used again at once.
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := http.Get(n.ManageURL); err == nil {
			t.Fatal("a killed node answers")
		}
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
		if err := n.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n.Pid() == first || n.Pid() == 0 {
		t.Errorf("process %d after %d", n.Pid(), first)
	}
	resp, err := http.Get(n.ManageURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var body [100]byte
	read, _ := resp.Body.Read(body[:])
	if got := string(body[:read]); got != "n1true" {
		t.Errorf("the process answers %q: it has the caller's variables, or lacks arguments", got)
	}
	if err := n.Terminate(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	if err := n.Kill(); err != nil || n.Pid() != 0 {
		t.Errorf("killing a process that has ended: %v, process %d", err, n.Pid())
	}
}

func TestTerminateReportsAnExitBySignal(t *testing.T) {
	n := nodetest.Start(t, options(t, "ignores SIGTERM"))
	if err := n.Terminate(); err == nil {
		t.Error("no error for a process that SIGTERM killed")
	}
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	n := nodetest.New(t, options(t, "fails"))
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	if err := n.WaitReady(t.Context()); err == nil || !strings.Contains(err.Error(), "no space on the disk") {
		t.Errorf("%v", err)
	}
}

// portOf returns the port of a URL.
func portOf(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// The ports of a node are its test's until the test ends, also while nothing listens: no other test binary gets one.
func TestPortsAreReserved(t *testing.T) {
	keep := func(port int) (net.PacketConn, error) {
		return net.ListenPacket("udp", "127.0.0.1:"+strconv.Itoa(port))
	}
	var first int
	t.Run("a test", func(t *testing.T) {
		n := nodetest.New(t, options(t, "serves"))
		first = portOf(t, n.AuctionURL)
		if kept, err := keep(first); err == nil {
			_ = kept.Close()
			t.Errorf("port %d is not reserved", first)
		}
		after := portOf(t, n.ManageURL) + 1 // That of peers.
		for port := after + 1; port <= after+10; port++ {
			if kept, err := keep(port); err == nil { // As another test binary does.
				defer func() { _ = kept.Close() }()
			}
		}
		if port := portOf(t, nodetest.New(t, options(t, "serves")).AuctionURL); port > after && port <= after+10 {
			t.Errorf("port %d is another test's", port)
		}
	})
	if kept, err := keep(first); err != nil {
		t.Errorf("port %d is reserved after its test: %v", first, err)
	} else if err := kept.Close(); err != nil {
		t.Error(err)
	}
}

// A port from the range of outgoing connections could be taken by a client while the node is stopped.
func TestPortsAreNotThoseOfClients(t *testing.T) {
	seen := map[int]bool{}
	for range 5 {
		n := nodetest.New(t, options(t, "serves"))
		for _, address := range []string{n.AuctionURL, n.ManageURL} {
			port := portOf(t, address)
			if port >= 32_768 || port < 1_024 || seen[port] {
				t.Errorf("port %d", port)
			}
			seen[port] = true
		}
	}
}
