package main_test

import (
	"slices"
	"testing"
)

// Campaigns of every format can be created, are listed by format, and have the creatives that they were given.
func TestConformanceFormats(t *testing.T) {
	s := startNode(t)
	s.adShop()
	filled := s.template("filled", "banner")
	s.campaign("v1", `"adFormat":"banner"`, filledBannerBid("s1", "url", "https://shop.example/", 800, filled, `{"headline":"Sale"}`))

	var all struct {
		Campaigns []struct{ CampaignID, AdFormat, ChargeType string }
	}
	s.decode(s.manage(200, "GET", "campaign-service/campaigns", ""), &all)
	var formats []string
	for _, c := range all.Campaigns {
		formats = append(formats, c.AdFormat+" "+c.ChargeType)
	}
	slices.Sort(formats)
	want := []string{"banner CPM", "banner CPM", "listing CPC", "listing CPC", "listing CPC", "sponsored_brand CPM"}
	if !slices.Equal(formats, want) {
		t.Errorf("the campaigns are %v, want %v", formats, want)
	}

	var bids struct {
		Bids []struct {
			FormatProperties struct {
				SlotID       string
				BannerAssets []struct{ Content map[string]string }
			}
		}
	}
	newest := all.Campaigns[0]
	s.decode(s.manage(200, "GET", "campaign-service/campaigns/"+newest.CampaignID+"/bids", ""), &bids)
	p := bids.Bids[0].FormatProperties
	if p.SlotID != "s1" || p.BannerAssets[0].Content["headline"] != "Sale" {
		t.Errorf("the banner is %+v", p)
	}
	s.manage(404, "POST", "campaign-service/campaigns?vendor_id=v1",
		`{"name":"C","campaignType":"manual","adFormat":"banner","bids":[`+bannerBid("nowhere", "product", "p1", 1, "")+`]}`)
}
