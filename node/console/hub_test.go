package console

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// The first rates contain what was asked for as soon as the stream was open, however late the hub goes to work.
func TestRatesCountFromTheFirstRequest(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	h := newHub(func(marketplace uint16) *serving.Watch {
		watch := node.Core.Watch(marketplace)
		sc := node.Core.Acquire()
		defer sc.Release(time.Millisecond)
		sc.Request = serving.Request{
			Method: []byte("POST"), Target: []byte("/v2/auctions"), Authorization: []byte("Bearer " + node.AuctionKey),
			Body: []byte(`{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p"]}}]}`), Now: time.UnixMilli(servingtest.NowMillis),
		}
		if node.Core.Serve(sc); sc.Status != 201 {
			t.Errorf("%d %s", sc.Status, sc.Body)
		}
		return watch
	}, nil)
	v, joined := h.join(servingtest.Marketplace, ratesAlone)
	if !joined {
		t.Fatal("nobody can join")
	}
	defer v.leave()
	if first := string(<-v.messages); !strings.Contains(first, `"fillRate":`) {
		t.Errorf("the first rates are %s", first)
	}
}

// Latencies are read every five seconds, and are then those of the time since; without requests there are none.
func TestLatenciesAreReadAtIntervals(t *testing.T) {
	reads := 0
	h := newHub(nil, func() func() (median, p99 time.Duration, known bool) {
		return func() (median, p99 time.Duration, known bool) {
			reads++
			return time.Duration(reads) * time.Millisecond, time.Second, reads != 2
		}
	})
	start := time.Unix(0, 0)
	latency := h.latency(start)
	for after, want := range []float64{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 3} { // Milliseconds by second, 0: nothing is known.
		median, p99 := latency(start.Add(time.Duration(after) * time.Second))
		if known := want != 0; (median != nil) != known || (p99 != nil) != known || known && (*median != want || *p99 != 1_000) {
			t.Errorf("after %d s: %v, %v, want %v ms", after, median, p99, want)
		}
	}
	if median, p99 := newHub(nil, nil).latency(start)(start.Add(time.Hour)); median != nil || p99 != nil {
		t.Error("a node that knows no latencies has some")
	}
}
