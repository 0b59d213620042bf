package main_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// Auctions reach the reports of campaigns: who won, and why the others lost. An orderly stop loses none.
func TestConformanceAuctionCounts(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100_000)
	s.vendor("v2", 100_000)
	s.product("p1", "v1", "", "")
	s.product("p2", "v2", "", "")
	winner, outranked := s.campaign("v1", rich+","+first, bid("p1", 50)), s.campaign("v2", rich+","+first, bid("p2", 40))
	paused := s.campaign("v2", rich+`,"isActive":false`, bid("p1", 90))
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	for range 3 {
		s.win(1, `"products":{"ids":["p1","p2"]}`)
	}
	node := s.node
	if err := node.Terminate(); err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), nodetest.ReadyMax)
	defer cancel()
	if err := node.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ campaign, want string }{
		{winner, `{"won":3,"lost":0,"percentageWon":100,"reasons":{},"counted":0}`},
		{outranked, `{"won":0,"lost":3,"percentageWon":0,"reasons":{"outranked":3},"counted":3}`},
		{paused, `{"won":0,"lost":3,"percentageWon":0,"reasons":{"inactive":3},"counted":3}`},
	} {
		r := s.manage(200, "GET", "reporting-service/campaigns/"+x.campaign+"?start_date="+day(-1)+"&end_date="+day(1), "")
		var got struct{ Auctions json.RawMessage }
		if s.decode(r, &got); string(got.Auctions) != x.want {
			t.Errorf("%s: %s, want %s", x.campaign, got.Auctions, x.want)
		}
	}
}
