package main_test

import (
	"testing"
	"time"
)

// explained is the answer of explain and of recorded live auctions.
type explained struct {
	At        string
	Operation string
	Auctions  []struct {
		PlacementID       int
		ExperimentVariant string
		Lost              map[string]int
		Candidates        []struct{ Outcome, Reason, CampaignID, BidID, ID string }
	}
}

// A live auction is recorded with its experiment and explained in terms on which an operator can act: campaign and bid
// have the ids under which they are changed.
func TestConformanceExplainedLiveAuctions(t *testing.T) {
	s := startNode(t, "--explain-sample", "1")
	campaign := s.shop()
	rival := s.campaign("v1", "", bid("p1", 20))
	live := s.win(1, `"products":{"ids":["p1"]},"placementId":7,"experimentVariant":"blue-2"`)
	if live.list() != "p1" || *live.Winners[0].CampaignID != campaign {
		t.Fatalf("%+v", live)
	}
	var kept struct {
		Every  int
		Recent []explained
	}
	for end := time.Now().Add(10 * time.Second); len(kept.Recent) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no live auction was kept")
		}
		s.decode(s.manage(200, "GET", "auctions/recent", ""), &kept)
	}
	a := kept.Recent[0].Auctions[0]
	if kept.Every != 1 || kept.Recent[0].Operation != "auctions" || a.PlacementID != 7 || a.ExperimentVariant != "blue-2" || len(a.Candidates) != 2 {
		t.Fatalf("%+v", kept)
	}
	for i, want := range []string{campaign, rival} {
		c := a.Candidates[i]
		if c.CampaignID != want || c.BidID == "" {
			t.Errorf("candidate %d is %+v, want campaign %s", i, c, want)
		}
		s.manage(200, "PATCH", "campaign-service/campaigns/"+c.CampaignID+"/bids/"+c.BidID, `{"amount":`+[]string{"10", "30"}[i]+`}`)
	}
	if w := s.win(1, `"products":{"ids":["p1"]}`); *w.Winners[0].CampaignID != rival {
		t.Errorf("the changed bids did not change the winner: %+v", w)
	}
	// Who has the newest one asks for later ones only.
	newest := kept.Recent[0].At
	s.decode(s.manage(200, "GET", "auctions/recent?after=2020-01-01T00:00:00Z", ""), &kept)
	if len(kept.Recent) == 0 || kept.Recent[len(kept.Recent)-1].At != newest {
		t.Errorf("all are later than a time long ago: %+v", kept)
	}
	s.decode(s.manage(200, "GET", "auctions/recent?after="+kept.Recent[0].At, ""), &kept)
	for _, later := range kept.Recent {
		if later.At <= newest {
			t.Errorf("%s is not later than %s", later.At, newest)
		}
	}
	// The recorded auctions are those of the shop, and bids have the present amounts.
	var recording struct {
		Format    string
		Every     int
		Campaigns []struct{ ID, Charge string }
		Auctions  []struct {
			Slots int
			Bids  [][]int64
		}
	}
	s.decode(s.manage(200, "GET", "auctions/recorded", ""), &recording)
	if len(recording.Auctions) != 2 || len(recording.Campaigns) != 2 || recording.Format != "gavel-recording-1" || recording.Every != 1 {
		t.Fatalf("%+v", recording)
	}
	for _, a := range recording.Auctions {
		for _, b := range a.Bids {
			want := int64(100_000) // 10 minor units.
			if recording.Campaigns[b[0]].ID == rival {
				want = 300_000
			}
			if a.Slots != 1 || len(a.Bids) != 2 || b[1] != want || b[2] != 1<<30 {
				t.Errorf("%+v", a)
			}
		}
	}
	var again explained
	s.decode(s.manage(200, "POST", "auctions/explain", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p1"]}}]}`), &again)
	if a := again.Auctions[0]; a.Candidates[0].CampaignID != rival || a.Candidates[1].Reason != "diversity" || a.Lost["diversity"] != 1 {
		t.Errorf("explained as %+v", again)
	}
}
