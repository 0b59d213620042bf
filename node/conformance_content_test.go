package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A template banner that is sent as content, without a file of its own, wins with a url that serves that content as JSON.
func TestConformanceContentOfABannerIsAFile(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100)
	s.slot("home", 10, 10)
	const content = `{"headline":"Sommer für alle","bannerTextColour":"#fff"}`
	bid := strings.Replace(filledBannerBid("home", "vendor", "v1", 50, s.template("Hero", "banner"), content),
		`"url":"https://img.example/home.json",`, "", 1)
	campaign := s.made(201, "campaign-service/campaigns?vendor_id=v1", fmt.Sprintf(
		`{"name":"C","campaignType":"manual","adFormat":"banner","status":"pending","bids":[%s]}`, bid), "campaignId")

	var bids struct {
		Bids []struct {
			FormatProperties struct{ BannerAssets []struct{ URL string } }
		}
	}
	s.decode(s.manage(200, "GET", "campaign-service/campaigns/"+campaign+"/bids", ""), &bids)
	url := bids.Bids[0].FormatProperties.BannerAssets[0].URL
	if !strings.HasPrefix(url, s.node.ManageURL+"/") {
		t.Fatalf("the url is %q", url)
	}
	if r := s.do("GET", url, "", ""); r.status != 404 {
		t.Errorf("of a campaign that nobody has approved: %d %s", r.status, r.body)
	}
	s.manage(200, "PATCH", "campaign-service/campaigns/"+campaign, `{"status":"approved"}`)

	var answer struct {
		Results []struct {
			Winners []struct {
				Asset []struct {
					URL     string
					Content json.RawMessage
				}
			}
		}
	}
	for _, r := range s.v2("/v2/auctions", `{"auctions":[{"type":"banners","slots":1,"slotId":"home"}]}`) {
		s.decode(r, &answer)
		if w := answer.Results[0].Winners; len(w) != 1 || w[0].Asset[0].URL != url || string(w[0].Asset[0].Content) != content {
			t.Errorf("the auction answered %s, want %s at %s", r.body, content, url)
		}
	}
	r := s.do("GET", url, "", "")
	if r.status != 200 || string(r.body) != content || r.header.Get("Content-Type") != "application/json" || r.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the file is %d %v %s", r.status, r.header, r.body)
	}
	if again := s.do("GET", url, "", "", "If-None-Match", r.header.Get("ETag")); again.status != 304 {
		t.Errorf("the same file again: %d", again.status)
	}
	for _, other := range []string{url + "0", url[:len(url)-1] + "1", url[:len(url)-1], strings.Replace(url, "c0001", "c0002", 1), strings.Replace(url, "c0001", "a0001", 1)} {
		if r := s.do("GET", other, "", ""); r.status != 404 {
			t.Errorf("%s: %d %s", other, r.status, r.body)
		}
	}
}
