package main_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

const (
	// rollingAuctions is how many auctions have to be answered while all nodes restart. ROLLING_AUCTIONS sets another number.
	rollingAuctions = 100_000
	rollingClients  = 8
	// checkInterval is how often the balancer asks /readyz; one other answer than 200 takes a node out.
	checkInterval = 500 * time.Millisecond
)

// TestRollingRestartBehindALoadBalancer restarts all nodes one after the other behind a load balancer that repeats no
// request, while clients with keep-alive connections run auctions. Not one may be lost.
func TestRollingRestartBehindALoadBalancer(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts three processes under load")
	}
	c := &cluster{T: t, client: &http.Client{Timeout: 20 * time.Second}}
	c.nodes = nodetest.StartCluster(t, 3, nodetest.Options{
		Args: []string{"--ratelimit-management", "0", "--ratelimit-catalog", "0", "--disk-reserve", "1MiB"},
		Env:  []string{"GAVEL_DRAIN_DELAY=auto"},
	})
	c.market(0)
	for node := range 3 {
		c.eventually("a winner on every node", func() bool { return c.auction(node) != "" })
	}
	balancer := ""
	path, err := exec.LookPath("haproxy")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/haproxy") // Debian's, which is not in every user's PATH.
	}
	if err == nil {
		balancer = haproxy(t, path, c.nodes)
	} else {
		t.Log("haproxy is not installed: a proxy of this test takes its place")
		balancer = goProxy(t, c.nodes)
	}
	c.eventually("the balancer reaches a node", func() bool { return rollingAuction(c.client, balancer, c.nodes[0].Keys.AuctionKey) == nil })

	enough := int64(number(t, "ROLLING_AUCTIONS", rollingAuctions))
	load := startRollingLoad(balancer, c.nodes[0].Keys.AuctionKey)
	for node, n := range c.nodes {
		time.Sleep(3 * checkInterval) // All nodes are in the balancer's list.
		before := load.answered.Load()
		if err := n.Terminate(); err != nil {
			t.Errorf("n%d: %v", node+1, err)
		}
		c.restart(node)
		t.Logf("n%d restarted during %d auctions", node+1, load.answered.Load()-before)
	}
	c.eventually("enough auctions", func() bool { return load.answered.Load() >= enough || load.lost.Load() > 0 })
	load.end()
	t.Logf("%d auctions answered, %d without a winner, %d lost", load.answered.Load(), load.empty.Load(), load.lost.Load())
	for node, n := range c.nodes {
		if log := n.LogTail(); strings.Contains(log, `"level":"ERROR"`) {
			t.Errorf("n%d logged an error during orderly stops:\n%s", node+1, log)
		}
	}
	load.reasons.Range(func(reason, _ any) bool {
		t.Errorf("an auction was lost: %s", reason)
		return true
	})
}

// rollingLoad is a number of clients that run auctions until it ends.
type rollingLoad struct {
	answered, empty, lost atomic.Int64
	reasons               sync.Map // Texts.
	stop                  chan struct{}
	all                   sync.WaitGroup
}

func startRollingLoad(url, key string) *rollingLoad {
	l := &rollingLoad{stop: make(chan struct{})}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: rollingClients}}
	for range rollingClients {
		l.all.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				switch err := rollingAuction(client, url, key); {
				case err == nil:
					l.answered.Add(1)
				case errors.Is(err, errNoWinner):
					l.answered.Add(1)
					l.empty.Add(1)
				default:
					l.lost.Add(1)
					l.reasons.Store(err.Error(), true)
				}
			}
		})
	}
	return l
}

func (l *rollingLoad) end() {
	close(l.stop)
	l.all.Wait()
}

// errNoWinner is returned for an auction that was answered without a winner.
var errNoWinner = errors.New("no winner")

func rollingAuction(client *http.Client, url, key string) error {
	r, err := http.NewRequest(http.MethodPost, url+"/v2/auctions", strings.NewReader(oneAuction))
	if err != nil {
		return err
	}
	r.GetBody = nil // The client of this test repeats nothing either.
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // It was read completely.
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusCreated:
		return fmt.Errorf("status %d: %s", answer.StatusCode, text)
	case !strings.Contains(string(text), "resolvedBidId"):
		return errNoWinner
	}
	return nil
}

// haproxy starts HAProxy in front of the nodes and returns its URL. It repeats no request (retries 0).
func haproxy(t *testing.T, path string, nodes []*nodetest.Node) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close() // HAProxy binds it.
	var text strings.Builder
	fmt.Fprintf(&text, "global\n  maxconn 1000\ndefaults\n  mode http\n  retries 0\n  timeout connect 2s\n  timeout client 20s\n  timeout server 20s\n"+
		"frontend auctions\n  bind %s\n  default_backend nodes\nbackend nodes\n  balance roundrobin\n  option httpchk GET /readyz\n"+
		"  default-server check inter %dms fall 1 rise 1\n", address, checkInterval.Milliseconds())
	for i, n := range nodes {
		fmt.Fprintf(&text, "  server n%d %s check port %s\n", i+1, strings.TrimPrefix(n.AuctionURL, "http://"), n.ManageURL[strings.LastIndex(n.ManageURL, ":")+1:])
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, path, "-db", "-f", file)
	log := &strings.Builder{}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // It was killed.
		if t.Failed() {
			t.Logf("haproxy: %s", log)
		}
	})
	return "http://" + address
}

// goProxy starts a proxy that behaves as HAProxy does: it asks /readyz of every node, sends requests in turn to those that
// answered 200 last, and repeats none. It returns its URL.
func goProxy(t *testing.T, nodes []*nodetest.Node) string {
	t.Helper()
	ready := make([]atomic.Bool, len(nodes))
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	check := &http.Client{Timeout: checkInterval, Transport: &http.Transport{DisableKeepAlives: true}}
	for i, n := range nodes {
		go func() {
			for ctx.Err() == nil {
				answer, err := check.Get(n.ManageURL + "/readyz")
				ready[i].Store(err == nil && answer.StatusCode == http.StatusOK)
				if err == nil {
					_ = answer.Body.Close() // Its content does not matter.
				}
				time.Sleep(checkInterval)
			}
		}()
	}
	var next atomic.Uint64
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{MaxIdleConnsPerHost: rollingClients},
		Rewrite: func(r *httputil.ProxyRequest) {
			for range nodes {
				if i := int(next.Add(1) % uint64(len(nodes))); ready[i].Load() {
					r.Out.URL.Scheme, r.Out.URL.Host = "http", strings.TrimPrefix(nodes[i].AuctionURL, "http://")
					return
				}
			}
		},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: proxy}
	go func() { _ = server.Serve(l) }() // It ends with the test.
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}
