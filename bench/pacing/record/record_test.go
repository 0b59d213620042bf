package record_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/bench/pacing/record"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
)

const recording = `{"format":"gavel-recording-1","from":"2026-03-02T00:00:00Z","to":"2026-03-02T12:00:00Z","every":4,"omitted":0,
 "offsetSeconds":3600,"reserveCpc":100000,"reserveCpm":1000000,
 "campaigns":[{"id":"a","vendor":0,"charge":"CPC","budget":10000000,"clickRate":0.05},
  {"id":"b","vendor":1,"charge":"CPM","budget":0,"clickRate":0}],
 "auctions":[{"at":1772445600000,"slots":2,"bids":[[0,800000,1073741824],[1,9000000,536870912]]},
  {"at":1772434800000,"slots":1,"banner":true,"bids":[[0,500000,1073741824]]}]}`

func read(t *testing.T) *record.Recording {
	t.Helper()
	r, err := record.Read(strings.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var same = &record.Changes{ReserveCPC: -1, ReserveCPM: -1}

// Each recorded auction becomes as many requests as it stands for, near its local time; each bid an offer of its
// campaign; and a budget is reduced to the recorded part of the day.
func TestDay(t *testing.T) {
	d, err := read(t).Day(1, same)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Requests) != 8 || len(d.Candidates) != 12 || len(d.Offers) != 3 || d.Reserve != [2]int64{100_000, 1_000_000} {
		t.Fatalf("%d requests, %d candidates, offers %v, reserve %v", len(d.Requests), len(d.Candidates), d.Offers, d.Reserve)
	}
	if d.Campaigns[0].Budget != 5_000_000 || d.Campaigns[0].Bid != 800_000 || d.Campaigns[0].Banner || !d.Campaigns[1].Banner {
		t.Errorf("campaigns %+v", d.Campaigns)
	}
	if d.Campaigns[1].Budget < 1<<49 {
		t.Error("a campaign without a budget has one")
	}
	for i := range d.Requests {
		q := &d.Requests[i]
		local, slots, bids := 11*scenario.Hour, 2, 2 // 10:00 UTC.
		if q.Banner {
			local, slots, bids = 8*scenario.Hour, 1, 1
		}
		if away := q.Millis - local; away < -600_000 || away > 600_000 || d.SlotsOf(q) != slots || len(d.Of(i)) != bids {
			t.Errorf("request %+v has %d slots and %d candidates", *q, d.SlotsOf(q), len(d.Of(i)))
		}
	}
	if d.Forecast[8]+d.Forecast[7] != 4 || d.Forecast[11]+d.Forecast[10] != 4 {
		t.Errorf("forecast %v", d.Forecast)
	}
	again, _ := read(t).Day(1, same)
	other, _ := read(t).Day(2, same)
	if !reflect.DeepEqual(d, again) || reflect.DeepEqual(d.Requests, other.Requests) {
		t.Error("the day does not depend on the seed alone")
	}
}

// What is supposed to differ does.
func TestChanges(t *testing.T) {
	changes := &record.Changes{Budgets: map[string]int64{"a": 40_000_000}, BidFactors: map[string]float64{"a": 2}, ReserveCPC: 300_000, ReserveCPM: -1}
	d, err := read(t).Day(1, changes)
	if err != nil {
		t.Fatal(err)
	}
	if d.Campaigns[0].Budget != 20_000_000 || d.Campaigns[0].Bid != 1_600_000 || d.Reserve != [2]int64{300_000, 1_000_000} {
		t.Errorf("%+v, reserve %v", d.Campaigns[0], d.Reserve)
	}
	for _, offer := range d.Offers {
		if offer.Campaign == 1 && offer.Bid != 9_000_000 {
			t.Error("the bid of another campaign has changed")
		}
	}
	changes.Budgets = map[string]int64{"unknown": 1}
	if _, err := read(t).Day(1, changes); err == nil {
		t.Error("an unknown campaign is accepted")
	}
}

// Every fault of a file is refused with a reason.
func TestRefusals(t *testing.T) {
	for old, replacement := range map[string]string{
		"gavel-recording-1": "gavel-recording-2", `"every":4`: `"every":0`, `"charge":"CPC"`: `"charge":"CPA"`, `"clickRate":0.05`: `"clickRate":1.5`,
		`"slots":2`: `"slots":41`, `[0,800000`: `[2,800000`, `500000,1073741824`: `500000,1073741825`, `800000`: `0`, `"budget":0`: `"budget":-1`,
		`[{"id"`: `[{"id":1,"x"`, `"reserveCpc":100000`: `"reserveCpc":-1`,
	} {
		if _, err := record.Read(strings.NewReader(strings.Replace(recording, old, replacement, 1))); err == nil {
			t.Errorf("%s instead of %s is accepted", replacement, old)
		}
	}
	if _, err := record.Read(strings.NewReader(strings.Repeat(" ", record.SizeMax+1))); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(recording))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := record.Read(strings.NewReader(string(text)))
		if err != nil || len(r.Auctions)*int(r.Every) > 10_000 {
			return
		}
		if d, err := r.Day(1, same); err == nil && len(d.Requests) == 0 {
			t.Error("a day without requests")
		}
	})
}
