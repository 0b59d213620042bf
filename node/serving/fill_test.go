package serving_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// fillOf returns what the core counts, as "type name" with auctions and filled ones.
func fillOf(t *testing.T, core *serving.Core) (counts map[string][2]int, f serving.Fill) {
	t.Helper()
	f = core.Fill(servingtest.Marketplace, time.UnixMilli(servingtest.NowMillis))
	counts = map[string][2]int{}
	last := 0
	for i, p := range f.Places {
		counts[p.ResultType+" "+p.Name] = [2]int{p.Auctions, p.Filled}
		if i > 0 && p.Auctions > last {
			t.Errorf("%+v is behind a place of %d auctions", p, last)
		}
		last = p.Auctions
	}
	return counts, f
}

// TestFillCountsAnswers sends random requests, and counts the auctions of each place and their winners in the answers.
func TestFillCountsAnswers(t *testing.T) {
	node, core := recording(1)
	random := rand.New(rand.NewPCG(7, 8))
	// Names as sent and as read. The first of each kind has bids.
	slots := [][2]string{{servingtest.Slot, servingtest.Slot}, {"nowhere", "nowhere"}, {`n\u006fne`, "none"}}
	placements := [][2]string{{servingtest.Placement, servingtest.Placement}, {"0199c0de-0000-7000-8000-00000000cafe", "0199c0de-0000-7000-8000-00000000cafe"}, {"nowhere", "nowhere"}}
	want := map[string][2]int{}
	for range 200 {
		path, names := "/v2/auctions", []string{}
		var auctions []string
		brands := random.IntN(3) == 0
		for range 1 + random.IntN(5) {
			switch place := random.IntN(3); {
			case brands:
				path = "/v2/auctions/sponsored-brand"
				auctions = append(auctions, fmt.Sprintf(`{"winners":1,"placementId":"%s","triggers":{"searchQuery":"q"}}`, placements[place][0]))
				names = append(names, "brand "+placements[place][1])
			case random.IntN(3) == 0:
				auctions = append(auctions, `{"type":"listings","slots":1,"products":{"ids":["p-0000001"]}}`)
				names = append(names, "")
			default:
				auctions = append(auctions, fmt.Sprintf(`{"type":"banners","slots":2,"slotId":"%s"}`, slots[place][0]))
				names = append(names, "banners "+slots[place][1])
			}
		}
		a := ask(core, "POST", path, node.AuctionKey, `{"auctions":[`+strings.Join(auctions, ",")+`]}`)
		var answer struct {
			Results []struct{ Winners []json.RawMessage }
		}
		if err := json.Unmarshal([]byte(a.body), &answer); err != nil || len(answer.Results) != len(names) {
			t.Fatal(a.status, a.body, err)
		}
		for i, name := range names {
			if name == "" {
				continue
			}
			count := want[name]
			count[0]++
			if len(answer.Results[i].Winners) > 0 {
				count[1]++
			}
			want[name] = count
		}
	}
	got, f := fillOf(t, core)
	if !maps.Equal(got, want) || f.Every != 1 || f.More {
		t.Errorf("%v %+v, want %v", got, f, want)
	}
	for _, name := range []string{"banners " + servingtest.Slot, "brand " + servingtest.Placement} {
		if want[name][1] == 0 {
			t.Errorf("%s was never filled: %v", name, want)
		}
	}
	if other := core.Fill(servingtest.Suspended, time.UnixMilli(servingtest.NowMillis)); len(other.Places) > 0 {
		t.Errorf("another marketplace has %+v", other)
	}
}

// TestFillForgetsTheOldest: the recorder keeps 10,000 requests, and From is the time of the newest one that it lost. Of the places
// those with most auctions are listed, at most 1,000.
func TestFillForgetsTheOldest(t *testing.T) {
	node, core := recording(1)
	at := func(millis int64) func(*serving.Request) {
		return func(r *serving.Request) { r.Now = time.UnixMilli(servingtest.NowMillis + millis) }
	}
	const requests = 10_003
	for i := range requests {
		name := fmt.Sprintf("place-%d", max(0, i%1002-1)) // The first one twice in each thousand.
		if i < 3 {
			name = "forgotten"
		}
		a := ask(core, "POST", "/v2/auctions", node.AuctionKey, fmt.Sprintf(`{"auctions":[{"type":"banners","slots":1,"slotId":%q}]}`, name), at(int64(i)))
		if a.status != 201 {
			t.Fatal(a.status, a.body)
		}
	}
	counts, f := fillOf(t, core)
	if want := time.UnixMilli(servingtest.NowMillis + 2); !f.From.Equal(want) {
		t.Errorf("complete from %v, want %v", f.From, want)
	}
	if _, found := counts["banners forgotten"]; found || len(counts) != 1_000 || !f.More || f.Places[0].Name != "place-0" {
		t.Errorf("%d places, more: %v, first %+v, forgotten: %v", len(counts), f.More, f.Places[0], found)
	}
}

// TestFillOff: a node that records nothing says so.
func TestFillOff(t *testing.T) {
	_, core := recording(0)
	if counts, f := fillOf(t, core); len(counts) > 0 || f.Every != 0 {
		t.Errorf("%+v", f)
	}
}
