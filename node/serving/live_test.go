package serving_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// at sets the time of a request, in milliseconds after the clock of the fixture.
func at(millis int) func(*serving.Request) {
	return func(r *serving.Request) { r.Now = time.UnixMilli(servingtest.NowMillis + int64(millis)) }
}

// A watch gets at most 20 samples a second of its own marketplace, each with the answer's request id, and counts all requests.
func TestWatchSamples(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	w, other := node.Core.Watch(servingtest.Marketplace), node.Core.Watch(servingtest.Suspended)
	samples, winners, ids := 0, 0, map[string]bool{}
	for i := range 200 { // Two seconds.
		a := ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, auctionBody, at(10*i))
		if a.status != 201 {
			t.Fatal(a.body)
		}
		ids[a.fields["X-Request-Id"]] = true
		winners += strings.Count(a.body, `"rank"`)
		select {
		case s := <-w.Samples:
			samples++
			if !ids[s.RequestID] || s.Operation != "auctions" || string(s.Body) != auctionBody || len(s.Auctions) == 0 {
				t.Fatalf("%+v", s)
			}
			for _, one := range s.Auctions {
				if one.Winners != len(one.Ads) || one.Winners != strings.Count(a.body, `"rank"`) {
					t.Errorf("%+v, the answer is %s", one, a.body)
				}
				for _, ad := range one.Ads {
					if !strings.Contains(a.body, `"resolvedBidId":"`+ad.ResolvedBidID+`"`) {
						t.Errorf("%+v, the answer is %s", ad, a.body)
					}
				}
			}
		default:
		}
	}
	if samples != 40 {
		t.Errorf("%d samples in two seconds, want 40", samples)
	}
	ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, `{}`)
	if got := w.Totals(); got.Auctions != 200 || got.Winners != uint64(winners) || winners == 0 || got.Slots < got.Winners {
		t.Errorf("counted %+v, want 200 auctions and %d winners", got, winners)
	}
	if len(other.Samples) > 0 || other.Totals().Auctions != 0 {
		t.Error("the watch of another marketplace got something")
	}
	w.Close()
	ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, auctionBody, at(9_000))
	if len(w.Samples) > 0 || w.Totals().Auctions != 200 {
		t.Error("a closed watch got something")
	}
}

// Auctions do not wait for a watch that nobody reads, and its queue is bounded.
func TestASlowWatchIsDropped(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	w := node.Core.Watch(servingtest.Marketplace)
	for i := range 100 {
		ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, auctionBody, at(1000*i))
	}
	if len(w.Samples) != 32 || w.Totals().Auctions != 100 {
		t.Errorf("%d samples wait, %d auctions are counted", len(w.Samples), w.Totals().Auctions)
	}
}

// Events are counted with what they charge.
func TestWatchCountsEvents(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	w := node.Core.Watch(servingtest.Marketplace)
	a := ask(node.Core, "POST", "/v2/events", node.AuctionKey,
		`{"clicks":[{"id":"c1","occurredAt":"2026-09-21T13:33:20Z","opaqueUserId":"u","entity":{"type":"product","id":"p"}}]}`)
	if a.status != 200 || w.Totals().Events != 1 || w.Totals().Auctions != 0 {
		t.Errorf("%d %s, counted %+v", a.status, a.body, w.Totals())
	}
}

// Events are sampled with what became of each, and refused requests with their answer, of the own marketplace only and while they are
// asked for; all of them are counted.
func TestWatchSamplesEvents(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	w, other := node.Core.Watch(servingtest.Marketplace), node.Core.Watch(servingtest.Suspended)
	other.SampleEvents(true)
	const good = `{"clicks":[{"id":"c1","occurredAt":"2026-09-21T13:33:20Z","opaqueUserId":"u","entity":{"type":"product","id":"p"}}]}`
	const bad = `{"clicks":[{"id":"c2"}]}`
	send := func(millis int, key, body string) { ask(node.Core, "POST", "/v2/events", key, body, at(millis)) }
	send(0, node.AuctionKey, good)
	if len(w.Events) != 0 {
		t.Error("events are sampled that nobody asked for")
	}
	w.SampleEvents(true)
	send(100, node.AuctionKey, good)
	if s := <-w.Events; s.Code != apierr.OK || s.RequestID == "" || string(s.Body) != good || len(s.Events) != 1 || s.Events[0].ID != "c1" || s.Events[0].Kind != "clicks" {
		t.Errorf("%+v", s)
	}
	send(200, node.AuctionKey, bad)
	if s := <-w.Events; s.Code == apierr.OK || !strings.Contains(string(s.Answer), s.Code.String()) || string(s.Body) != bad || len(s.Events) != 0 {
		t.Errorf("%+v", s)
	}
	send(210, node.AuctionKey, bad) // Too soon for another sample.
	send(300, "gavel_auc_of_nobody", bad)
	w.SampleEvents(false)
	send(400, node.AuctionKey, good)
	if len(w.Events) != 0 || len(other.Events) != 0 {
		t.Errorf("%d samples, %d of another marketplace", len(w.Events), len(other.Events))
	}
	total, refused := w.EventTotals(), uint64(0)
	for code, n := range total.Refused {
		refused += n
		if code == apierr.InvalidAPIKey.String() {
			t.Errorf("a request without a key is counted for the marketplace")
		}
	}
	if total.Recorded+total.Duplicate+total.Late != 3 || refused != 2 {
		t.Errorf("counted %+v", total)
	}
}
