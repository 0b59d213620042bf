//go:build !race

package serving_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/auction"
)

// TestAnswersDoNotAllocate checks that neither an auction nor a refusal allocates, with any configuration of origins and
// for clean and unclean paths.
func TestAnswersDoNotAllocate(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	deps := node.Deps
	deps.CORSOrigins = []string{"https://a.shop.whose.name.is.longer.than.32.bytes.example"}
	deps.Access = serving.NewAccessLog(1_000_000, time.Hour, slog.New(slog.DiscardHandler)) // It writes none of these requests.
	fresh := serving.New(deps)
	deps.Stale = func(_ time.Time, into *auction.Groups) bool { into.Add(1); return true }
	fenced := serving.New(deps)
	deps.Stale = nil
	watched := serving.New(deps) // Somebody watches another marketplace.
	defer watched.Watch(servingtest.Suspended).Close()
	request := serving.Request{
		Now: time.UnixMilli(servingtest.NowMillis), Method: []byte("POST"), Target: []byte("/v2/auctions"),
		Authorization: []byte("Bearer " + node.AuctionKey), Body: []byte(auctionBody),
		Origin: []byte(deps.CORSOrigins[0]),
	}
	for name, tc := range map[string]struct {
		change func(*serving.Request)
		status int
	}{
		"fenced":        {func(*serving.Request) {}, 201},
		"auction":       {func(*serving.Request) {}, 201},
		"unclean path":  {func(r *serving.Request) { r.Target = []byte("//v2//auctions?x=y") }, 201},
		"caller's id":   {func(r *serving.Request) { r.RequestID = []byte("mine") }, 201},
		"watched":       {func(*serving.Request) {}, 201},
		"no key":        {func(r *serving.Request) { r.Authorization = nil }, 401},
		"bad body":      {func(r *serving.Request) { r.Body = []byte(`{"auctions":[{"slots":0}]}`) }, 400},
		"unknown path":  {func(r *serving.Request) { r.Target = []byte("/v2/nowhere") }, 404},
		"preflight":     {func(r *serving.Request) { r.Method = []byte("OPTIONS") }, 204},
		"other methods": {func(r *serving.Request) { r.Method = []byte("GET") }, 405},
	} {
		r := request
		tc.change(&r)
		status, core := 0, fresh
		switch name {
		case "fenced":
			core = fenced
		case "watched":
			core = watched
		}
		if n := testing.AllocsPerRun(100, func() {
			sc := core.Acquire()
			sc.Request = r
			core.Serve(sc)
			status = sc.Status
			sc.Release(time.Millisecond)
		}); n != 0 || status != tc.status {
			t.Errorf("%s: %v allocations, status %d, want %d", name, n, status, tc.status)
		}
	}
}
