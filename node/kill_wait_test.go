package main_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// A load that a timer ends is over when the kill is, and not as soon as its workers have stopped: what follows starts the node
// again on the same ports and the same directory.
func TestALoadEndsAfterItsKill(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	l := newLoad(&nodetest.Node{AuctionURL: server.URL}, &killMarket{products: make([]string, 24)}, &history{}, 1)
	var killed atomic.Bool
	l.run(t, 0, 20*time.Millisecond, func() {
		time.Sleep(200 * time.Millisecond) // The workers have stopped long before, if nothing holds them.
		killed.Store(true)
	})
	if !killed.Load() {
		t.Error("the load is over before the kill")
	}
}
