package wire

import (
	"bytes"
	stdjson "encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

var someCampaign = [ids.TextLen]byte([]byte("0199c0de-0000-7000-8000-00000000cafe"))

func winner(rank uint8, id string, clean bool) auction.Winner {
	w := auction.Winner{Rank: rank, ID: []byte(id), IDJSONSafe: clean, Campaign: &someCampaign}
	copy(w.Token[:], bytes.Repeat([]byte("Tok-"), auction.TokenLen/4))
	return w
}

// someResults has a result of every kind.
func someResults() *auction.Results {
	external := winner(2, "p2", true)
	external.Campaign, external.DemandSource = nil, []byte("dsp_1")
	external.Metadata = []byte(`{"clickUrl": "https://x"}`)
	banner := winner(1, "https://x/?a=\"b\"", false)
	banner.Type = model.TargetURL
	banner.Shown = &auction.Shown{Assets: []auction.Asset{
		{URL: text("https://cdn/1.png")}, {URL: text(`u"`), Content: []byte(`{"bannerTextColour":"#fff"}`)},
	}}
	brand := winner(1, "b1", true)
	brand.Shown = &auction.Shown{
		Vendor: text("v1"), Title: text(`"T"`), Content: []byte(`{"headline":"h"}`),
		Products: []market.Text{text("p1"), text(`p\2`)},
	}
	plain := winner(2, "https://x", true)
	plain.Type, plain.Shown = model.TargetURL, &auction.Shown{Vendor: text("v2")}
	flight := winner(1, "f1", true)
	flight.Variation = []byte(`v"1`)
	return &auction.Results{Results: []auction.Result{
		{Type: auction.ListingsResult, Winners: []auction.Winner{winner(1, "p1", true), winner(2, "p\"\\\n\t\x01\x1f é", false)}},
		{Type: auction.BannersResult},
		{Type: auction.ExternalListingsResult, Winners: []auction.Winner{winner(1, "p1", true), external}},
		{Type: auction.BannersResult, Winners: []auction.Winner{banner}},
		{Type: auction.BrandResult, Winners: []auction.Winner{brand, plain}},
		{Type: auction.HotelsResult, Winners: []auction.Winner{winner(1, "h1", true)}},
		{Type: auction.FlightsResult, Winners: []auction.Winner{flight}},
	}}
}

// text returns a market text, which is clean if it needs no escapes.
func text(s string) market.Text {
	return market.Text{Bytes: []byte(s), JSONSafe: !strings.ContainsAny(s, `"\`)}
}

func TestAppendResults(t *testing.T) {
	token := string(bytes.Repeat([]byte("Tok-"), auction.TokenLen/4))
	own := `","resolvedBidId":"` + token + `","campaignId":"0199c0de-0000-7000-8000-00000000cafe"`
	want := `{"results":[` +
		`{"resultType":"listings","winners":[{"rank":1,"type":"product","id":"p1` + own + `},` +
		`{"rank":2,"type":"product","id":"p\"\\\n\t\u0001\u001f é` + own + `}],"error":false},` +
		`{"resultType":"banners","winners":[],"error":false},` +
		`{"resultType":"external_demand_listings","winners":[{"rank":1,"type":"product","id":"p1` + own + `,"demandSource":"own"},` +
		`{"rank":2,"type":"product","id":"p2","resolvedBidId":"` + token + `","demandSource":"dsp_1","metadata":{"clickUrl": "https://x"}}],` +
		`"error":false},` +
		`{"resultType":"banners","winners":[{"rank":1,"type":"url","id":"https://x/?a=\"b\"` + own +
		`,"asset":[{"url":"https://cdn/1.png"},{"url":"u\"","content":{"bannerTextColour":"#fff"}}]}],"error":false},` +
		`{"resultType":"brand","winners":[{"rank":1,"type":"product","id":"b1` + own +
		`,"vendorId":"v1","productIds":["p1","p\\2"],"title":"\"T\"","content":{"headline":"h"}},` +
		`{"rank":2,"type":"url","id":"https://x` + own + `,"vendorId":"v2","productIds":[],"content":{}}],"error":false},` +
		`{"resultType":"hotels","winners":[{"rank":1,"type":"product","id":"h1` + own + `}],"error":false},` +
		`{"resultType":"flights","winners":[{"rank":1,"type":"product","id":"f1` + own + `,"variationID":"v\"1"}],"error":false}]}`
	if got := string(AppendResults([]byte("x"), nil, someResults(), []byte("own"))); got != "x"+want {
		t.Errorf("got  %s\nwant x%s", got, want)
	}
}

// FuzzAppendResults decodes the appended text with encoding/json and compares the values.
func FuzzAppendResults(f *testing.F) {
	f.Add(uint8(1), "p1", "gavel", uint8(1))
	f.Add(uint8(40), "a\"b\\c\x00\u2028\x7f</script>", "o\"wn", uint8(3))
	f.Fuzz(func(t *testing.T, rank uint8, id, own string, kind uint8) {
		if !utf8.ValidString(id) || !utf8.ValidString(own) {
			t.Skip("the parsers let no such text in")
		}
		first, second := winner(rank, id, false), winner(rank, "x", true)
		first.Shown, second.Shown = &auction.Shown{}, &auction.Shown{} // AppendResults reads them only of ads.
		res := auction.Results{Results: []auction.Result{{
			Type: auction.ResultType(kind%6 + 1), Winners: []auction.Winner{first, second},
		}}}
		body := AppendResults(nil, nil, &res, []byte(own))
		var got resultsShape
		if err := stdjson.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if len(got.Results) != 1 || got.Results[0].Error == nil || *got.Results[0].Error || len(got.Results[0].Winners) != 2 {
			t.Fatalf("%s", body)
		}
		w := got.Results[0].Winners[0]
		if w.Rank != rank || w.ID != id || w.Type != "product" || w.CampaignID != string(someCampaign[:]) ||
			len(w.ResolvedBidID) != auction.TokenLen {
			t.Errorf("%+v, from %s", w, body)
		}
		if external := got.Results[0].ResultType == "external_demand_listings"; external && w.DemandSource != own || !external && w.DemandSource != "" {
			t.Errorf("demand source %q, from %s", w.DemandSource, body)
		}
	})
}
