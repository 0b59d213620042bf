package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// waitMax bounds waits for which there is no promise, because the machine may be busy with other work.
const waitMax = 60 * time.Second

// cluster is three nodes and a client that sends requests to each of them.
type cluster struct {
	*testing.T
	nodes    []*nodetest.Node
	client   *http.Client
	campaign string
}

// clusterAnswer is a decoded answer.
type clusterAnswer struct {
	status int
	header http.Header
	body   map[string]any
}

// send sends a request; the error is that of a connection without an answer.
func (c *cluster) send(method, url, key, body string, header ...string) (clusterAnswer, error) {
	r, err := http.NewRequestWithContext(c.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return clusterAnswer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return clusterAnswer{}, err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // It was read completely.
	if err != nil {
		return clusterAnswer{}, err
	}
	s := clusterAnswer{status: resp.StatusCode, header: resp.Header}
	if bytes.HasPrefix(text, []byte("{")) {
		err = json.Unmarshal(text, &s.body)
	}
	return s, err
}

func (c *cluster) manage(node int, want int, method, path, body string, header ...string) clusterAnswer {
	c.Helper()
	n := c.nodes[node]
	s, err := c.send(method, n.ManageURL+"/public/v1"+path, n.Keys.ManagementKey, body, header...)
	if err != nil || s.status != want {
		c.Fatalf("n%d: %s %s: %v %v, want %d: %v", node+1, method, path, err, s.status, want, s.body)
	}
	return s
}

// eventually repeats so until it is true and returns how long that took.
func (c *cluster) eventually(what string, so func() bool) time.Duration {
	c.Helper()
	began := time.Now()
	for !so() {
		if time.Since(began) > waitMax {
			c.Fatalf("not within %s: %s", waitMax, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

// market creates a vendor with money, a product and a campaign through one node, and returns the token of the last
// write.
func (c *cluster) market(node int) string {
	c.manage(node, 200, "PUT", "/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"Vendor"}]}`)
	c.manage(node, 200, "PUT", "/catalog-search-service/catalogs/products", `{"products":[{"id":"p1","name":"Product","vendors":["v1"],"categories":["c1"],"price":12.5}]}`)
	c.manage(node, 200, "POST", "/billing-service/vendors/v1/balance", `{"balance":100000}`)
	s := c.manage(node, 201, "POST", "/campaign-service/campaigns?vendor_id=v1",
		`{"name":"First","campaignType":"manual","bids":[{"target":{"type":"product","id":"p1"},"amount":50}]}`)
	c.campaign = s.body["campaignId"].(string)
	return s.header.Get("X-Gavel-Token")
}

const oneAuction = `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p1"]}}]}`

// auction returns the winner's token, or "" without a winner. It fails without an answer.
func (c *cluster) auction(node int) string {
	c.Helper()
	token, err := c.tryAuction(node)
	if err != nil {
		c.Fatalf("n%d: %v", node+1, err)
	}
	return token
}

// winner is auction until there is a winner: a node that has just started may have none.
func (c *cluster) winner(node int) (token string) {
	c.Helper()
	c.eventually("a winner", func() bool {
		token = c.auction(node)
		return token != ""
	})
	return token
}

func (c *cluster) tryAuction(node int) (string, error) {
	n := c.nodes[node]
	s, err := c.send("POST", n.AuctionURL+"/v2/auctions", n.Keys.AuctionKey, oneAuction)
	if err != nil {
		return "", err
	}
	if s.status != http.StatusCreated {
		return "", fmt.Errorf("auction answered %d: %v", s.status, s.body)
	}
	won := s.body["results"].([]any)[0].(map[string]any)["winners"].([]any)
	if len(won) == 0 {
		return "", nil
	}
	return won[0].(map[string]any)["resolvedBidId"].(string), nil
}

// click reports a click and returns the status, or 0 without an answer.
func (c *cluster) click(node int, id, token string) int {
	n := c.nodes[node]
	body := fmt.Sprintf(`{"clicks":[{"id":%q,"occurredAt":%q,"opaqueUserId":"u","resolvedBidId":%q}]}`,
		id, time.Now().UTC().Format(time.RFC3339Nano), token)
	s, err := c.send("POST", n.AuctionURL+"/v2/events", n.Keys.AuctionKey, body)
	if err != nil {
		return 0
	}
	return s.status
}

// clicks reads the campaign's clicks, total and charged.
func (c *cluster) clicks(node int, query string, header ...string) (total, charged float64) {
	c.Helper()
	from, to := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), time.Now().UTC().Format(time.DateOnly)
	s := c.manage(node, 200, "GET", "/reporting-service/campaigns/"+c.campaign+"?start_date="+from+"&end_date="+to+query, "", header...)
	all := s.body["clicks"].(map[string]any)
	return all["total"].(float64), all["charged"].(float64)
}

// leader returns the index of the node that leads group 1.
func (c *cluster) leader() int {
	c.Helper()
	found := -1
	c.eventually("a leader that a node knows", func() bool {
		for _, n := range c.nodes {
			s, err := c.send("GET", n.ManageURL+"/operator/v1/cluster", n.Keys.ManagementKey, "")
			if err != nil || s.status != http.StatusOK {
				continue
			}
			id := s.body["groups"].([]any)[0].(map[string]any)["leader"].(string)
			if _, err := fmt.Sscanf(id, "n%d", &found); err == nil {
				return true
			}
		}
		return false
	})
	return found - 1
}

func (c *cluster) restart(node int) {
	c.Helper()
	if err := c.nodes[node].Start(); err != nil {
		c.Fatal(err)
	}
	c.waitReady(node)
}

func (c *cluster) waitReady(node int) {
	c.Helper()
	if err := c.nodes[node].WaitReady(c.Context()); err != nil {
		c.Fatalf("n%d: %v", node+1, err)
	}
}

// shoppers send auctions continuously, as a load balancer would: a node that is being stopped gets no new ones. Any
// answer that is not a good one is a failure.
type shoppers struct {
	c        *cluster
	away     [3]atomic.Bool
	auctions atomic.Int64
	failed   sync.Map // The texts of failures.
	stop     chan struct{}
	done     sync.WaitGroup
}

func (c *cluster) shop() *shoppers {
	s := &shoppers{c: c, stop: make(chan struct{})}
	for range 2 {
		s.done.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-s.stop:
					return
				case <-time.After(2 * time.Millisecond):
				}
				if node := i % 3; !s.away[node].Load() {
					_, err := c.tryAuction(node)
					if err != nil && !s.away[node].Load() {
						s.failed.Store(fmt.Sprintf("n%d: %v", node+1, err), true)
					}
					s.auctions.Add(1)
				}
			}
		})
	}
	return s
}

// end stops the shoppers and reports the failures.
func (s *shoppers) end() {
	s.c.Helper()
	close(s.stop)
	s.done.Wait()
	s.failed.Range(func(text, _ any) bool {
		s.c.Errorf("an auction failed: %s", text)
		return true
	})
	if s.auctions.Load() < 10 {
		s.c.Errorf("only %d auctions: nothing was tested", s.auctions.Load())
	}
}

// TestCluster checks the promises of a cluster on three real nodes, one after the other.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nine processes")
	}
	c := &cluster{T: t, client: &http.Client{Timeout: 20 * time.Second}}
	c.nodes = nodetest.StartCluster(t, 3, nodetest.Options{Args: []string{
		"--staleness", "1s", "--ratelimit-management", "0", "--ratelimit-catalog", "0", "--disk-reserve", "1MiB",
	}})
	for _, step := range []struct {
		name string
		run  func(*cluster)
	}{
		{"any node reads what another answered", (*cluster).testReadsAfterWrites},
		{"any node accepts events, each counts once", (*cluster).testEventsOnEveryNode},
		{"an idempotency key holds on every node", (*cluster).testIdempotencyKeys},
		{"the leader is killed", (*cluster).testLeaderKilled},
		{"all nodes restart one after the other", (*cluster).testRollingRestart},
		{"an operator moves a leader, removes a node and allows it to join again", (*cluster).runOperatorCommands},
		{"a wiped node rejoins", (*cluster).testWipedNode},
		{"the majority is lost", (*cluster).testMajorityLost},
	} {
		ok := t.Run(step.name, func(t *testing.T) {
			inner := &cluster{T: t, nodes: c.nodes, client: c.client, campaign: c.campaign}
			step.run(inner)
			c.campaign = inner.campaign
		})
		if !ok {
			return
		}
	}
}

func (c *cluster) testReadsAfterWrites() {
	token := c.market(0)
	if token == "" {
		c.Fatal("a write without a token")
	}
	path := "/campaign-service/campaigns/" + c.campaign
	c.manage(1, 200, "GET", path, "")
	c.manage(2, 200, "GET", path+"?consistency=local", "", "X-Gavel-Token", token)
	c.manage(2, 422, "GET", path+"?consistency=eventual", "")
	c.manage(2, 400, "GET", path, "", "X-Gavel-Token", "AAAA")
	for i := range 10 { // Each write goes through one node, each read through another.
		c.manage(i%3, 200, "PATCH", path, fmt.Sprintf(`{"name":"Name %d"}`, i))
		if s := c.manage((i+1)%3, 200, "GET", path, ""); s.body["name"] != fmt.Sprintf("Name %d", i) {
			c.Fatalf("read %v after Name %d was answered", s.body["name"], i)
		}
	}
}

func (c *cluster) testEventsOnEveryNode() {
	for node := range 3 {
		c.eventually("a winner on every node", func() bool { return c.auction(node) != "" })
	}
	token := c.auction(0)
	for i := range 6 {
		if status := c.click(i%3, fmt.Sprintf("same-%d", i/3), token); status != http.StatusOK {
			c.Fatalf("n%d answered a click with %d", i%3+1, status)
		}
	}
	for node := range 3 {
		if total, charged := c.clicks(node, ""); total != 2 || charged != 1 {
			c.Errorf("n%d reports %v clicks, %v charged, want 2 and 1", node+1, total, charged)
		}
	}
}

func (c *cluster) testIdempotencyKeys() {
	for node := range 3 {
		c.manage(node, 200, "POST", "/billing-service/vendors/v1/balance", `{"balance":7}`, "Idempotency-Key", "deposit-1")
	}
	if s := c.manage(1, 200, "GET", "/billing-service/vendors/v1/balance", ""); s.body["balance"].(float64) > 100_007 {
		c.Errorf("the balance is %v: a deposit was booked again on another node", s.body["balance"])
	}
}

// The time until the next event is logged and not asserted: one failover beside all other tests proves nothing about a
// promise of 5 s, and fails when the machine stalls. The nemesis (loadtest/nemesis, "writes go on", in every go test)
// and TestFailover assert it for many failovers, less the stalls of the machine. The same holds for restarts.
func (c *cluster) testLeaderKilled() {
	token, shop, leader := c.winner(0), c.shop(), c.leader()
	shop.away[leader].Store(true)
	if err := c.nodes[leader].Kill(); err != nil {
		c.Fatal(err)
	}
	other := (leader + 1) % 3
	took := c.eventually("an event through another node", func() bool { return c.click(other, "after-the-leader", token) == http.StatusOK })
	c.Logf("the next event was acknowledged %s after the kill", took.Round(time.Millisecond))
	c.restart(leader)
	c.winner(leader)
	shop.end()
	if total, _ := c.clicks(leader, ""); total != 3 {
		c.Errorf("the restarted node reports %v clicks, want 3", total)
	}
}

func (c *cluster) testRollingRestart() {
	token, shop := c.winner(0), c.shop()
	for node := range 3 {
		shop.away[node].Store(true)
		began := time.Now()
		if err := c.nodes[node].Terminate(); err != nil {
			c.Errorf("n%d: %v", node+1, err)
		}
		stopped := time.Since(began)
		took := c.eventually("an event while a node is away", func() bool {
			return c.click((node+1)%3, fmt.Sprintf("rolling-%d", node), token) == http.StatusOK
		})
		c.Logf("n%d stopped in %s; the next event took %s", node+1, stopped.Round(time.Millisecond), took.Round(time.Millisecond))
		c.restart(node)
		shop.away[node].Store(false)
	}
	shop.end()
	if total, _ := c.clicks(0, ""); total != 6 {
		c.Errorf("%v clicks, want 6", total)
	}
}

func (c *cluster) testWipedNode() {
	if err := c.nodes[2].Kill(); err != nil {
		c.Fatal(err)
	}
	if err := os.RemoveAll(c.nodes[2].Dir()); err != nil {
		c.Fatal(err)
	}
	c.restart(2)
	if total, charged := c.clicks(2, ""); total != 6 {
		c.Errorf("the wiped node reports %v clicks, %v charged, want 6", total, charged)
	}
	c.eventually("a winner on the wiped node", func() bool { return c.auction(2) != "" })
}

func (c *cluster) testMajorityLost() {
	for _, node := range []int{0, 1} {
		if err := c.nodes[node].Kill(); err != nil {
			c.Fatal(err)
		}
	}
	c.eventually("no winner without a majority", func() bool { return c.auction(2) == "" }) // Each auction is answered nevertheless.
	n := c.nodes[2]
	s, err := c.send("POST", n.AuctionURL+"/v2/events", n.Keys.AuctionKey,
		fmt.Sprintf(`{"pageviews":[{"id":"lost","occurredAt":%q,"opaqueUserId":"u","page":{"type":"home","pageId":"home"}}]}`, time.Now().UTC().Format(time.RFC3339Nano)))
	if err != nil || s.status != http.StatusServiceUnavailable || s.header.Get("Retry-After") == "" {
		c.Errorf("an event without a majority: %v %d %v", err, s.status, s.body)
	}
	path := "/campaign-service/campaigns/" + c.campaign
	c.manage(2, 503, "GET", path, "")
	c.manage(2, 200, "GET", path+"?consistency=local", "")
	c.eventually("readyz says so", func() bool {
		s, err := c.send("GET", n.ManageURL+"/readyz", "", "")
		return err == nil && s.status == http.StatusServiceUnavailable
	})
	for _, node := range []int{0, 1} {
		if err := c.nodes[node].Start(); err != nil {
			c.Fatal(err)
		}
	}
	for node := range 3 {
		c.waitReady(node)
		c.eventually("a winner on every node", func() bool { return c.auction(node) != "" })
	}
}
