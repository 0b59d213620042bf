package main_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// TestClickRatesAreEqualOnAllNodes reports clicks through two nodes. All three nodes learn the same click rate from them,
// also one that was killed and started again.
func TestClickRatesAreEqualOnAllNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three nodes")
	}
	c := &cluster{T: t, client: &http.Client{Timeout: 20 * time.Second}}
	c.nodes = nodetest.StartCluster(t, 3, nodetest.Options{Args: []string{
		"--ratelimit-management", "0", "--ratelimit-catalog", "0", "--disk-reserve", "1MiB",
	}})
	c.market(0)
	c.eventually("winners on both nodes", func() bool { return c.auction(0) != "" && c.auction(1) != "" })
	rate := func(node int) float64 {
		s := c.manage(node, 200, "POST", "/auctions/explain", oneAuction)
		return s.body["auctions"].([]any)[0].(map[string]any)["candidates"].([]any)[0].(map[string]any)["clickRate"].(float64)
	}
	if got := rate(0); got != 0.03 {
		t.Fatalf("the click rate is %g before the first event, want 0.03", got)
	}
	const clicks = 4
	for i := range clicks {
		token := c.auction(i % 2)
		if token == "" {
			t.Fatalf("no winner after %d clicks", i)
		}
		for node := range 2 { // The second report of the id is a repeat and teaches nothing.
			if status := c.click(node, fmt.Sprint("click-", i), token); status != http.StatusOK {
				t.Fatalf("n%d answered %d", node+1, status)
			}
		}
	}
	// Product, placement and format have each counted 4 clicks and no impression, so each predicts (4 + 2.7) / m of
	// clicks, where m = 2.7/p of the level above.
	want := 0.03
	for range 3 {
		want = (clicks + 2.7) / (2.7 / want)
	}
	equal := func() bool {
		for node := range c.nodes {
			if got := rate(node); got < want*0.999 || got > want*1.001 {
				t.Logf("n%d: %g, want %g", node+1, got, want)
				return false
			}
		}
		return true
	}
	c.eventually("the learned click rate on every node", equal)
	if err := c.nodes[2].Kill(); err != nil {
		t.Fatal(err)
	}
	c.restart(2)
	c.eventually("the learned click rate after a restart", equal)
}
