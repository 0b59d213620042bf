package main_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

const (
	silentPeers     = 200 // Connections to each peer port that send at most a byte, replaced when they are closed.
	silentAddresses = 8   // Their loopback addresses, one of which is that of the members.
)

// TestFailoverBesideSilentConnections kills leaders while connections without a certificate and a header are kept open
// to every peer port: events succeed again within 5 s, and the killed node is ready within nodetest.ReadyMax. KILLS=30
// measures longer: KILLS=30 go test -run FailoverBesideSilentConnections -v -timeout 30m ./node.
func TestFailoverBesideSilentConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("starts six processes")
	}
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil && n > 0 {
		kills = n
	}
	for _, tc := range []struct {
		name     string
		insecure bool
		first    byte // First byte of a TLS record, and of a header.
	}{{"certificates", false, 22}, {"plain TCP", true, 'G'}} {
		t.Run(tc.name, func(t *testing.T) {
			c := &cluster{T: t, client: &http.Client{Timeout: 20 * time.Second}}
			c.nodes = nodetest.StartCluster(t, 3, nodetest.Options{PeerInsecure: tc.insecure, Args: []string{
				"--ratelimit-management", "0", "--ratelimit-catalog", "0", "--disk-reserve", "1MiB",
			}})
			c.market(0)
			c.eventually("a winner", func() bool { return c.auction(0) != "" })
			c.testFailoverBesideSilentConnections(kills, c.auction(0), tc.first)
		})
	}
}

// testFailoverBesideSilentConnections kills leaders. Half of the silent connections send the first byte of what a
// member would send.
func (c *cluster) testFailoverBesideSilentConnections(kills int, token string, first byte) {
	c.Helper()
	keepSilentConnections(c.T, c.nodes, []byte{first})
	stalls := newStallMonitor(c.T)
	var gaps, starts []time.Duration
	for kill := range kills {
		leader := c.leader()
		if err := c.nodes[leader].Kill(); err != nil {
			c.Fatal(err)
		}
		other, began := (leader+1)%3, time.Now()
		gap := c.eventually("an event", func() bool { return c.click(other, fmt.Sprint("silence-", kill), token) == http.StatusOK })
		gap -= stalls.stalled(began, began.Add(gap))
		began = time.Now()
		c.restart(leader) // It fails when the node is not ready within nodetest.ReadyMax.
		gaps, starts = append(gaps, gap), append(starts, time.Since(began))
		c.Logf("n%d killed: the next event after %s, ready %s after its start", leader+1, gap.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	}
	c.Logf("events after a kill: %s", quantiles(gaps))
	c.Logf("ready after a start: %s", quantiles(starts))
	if longest := slices.Max(gaps); longest > 5*time.Second {
		c.Errorf("events stayed away for %s after a kill, want at most 5 s", longest)
	}
}

func quantiles(all []time.Duration) string {
	slices.Sort(all)
	n := len(all)
	return fmt.Sprintf("%d times, median %s, p99 %s, longest %s",
		n, all[n/2].Round(time.Millisecond), all[(99*n+99)/100-1].Round(time.Millisecond), all[n-1].Round(time.Millisecond))
}

// keepSilentConnections holds silentPeers connections to the peer port of each node until the test ends.
func keepSilentConnections(t *testing.T, nodes []*nodetest.Node, first []byte) {
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, n := range nodes {
		for i := range silentPeers {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i%silentAddresses))}}
			all.Go(func() {
				for ctx.Err() == nil {
					stayConnected(ctx, &d, n.PeerAddress, first[:i%2])
				}
			})
		}
	}
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
}

// stayConnected opens one connection, sends something and returns when the node has closed it.
func stayConnected(ctx context.Context, d *net.Dialer, address string, send []byte) {
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		return
	}
	end := context.AfterFunc(ctx, func() { _ = c.Close() }) // Nothing was sent that matters.
	_, _ = c.Write(send)
	_, _ = c.Read(make([]byte, 1)) // It ends with the connection, however that ends.
	end()
	_ = c.Close()
}
